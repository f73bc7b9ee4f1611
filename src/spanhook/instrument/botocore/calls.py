"""Which calls of AWS's SDK are operations, and in which form their JSON is: told by the operation, the model and the
body.
"""

from collections.abc import Callable
from typing import Any

from spanhook.instrument.botocore.parameters import parameters_of, settle, settle_body
from spanhook.instrument.botocore.transport import BotocoreTransport, InvokedTransport, StartedTransport
from spanhook.instrument.formats.anthropic import Messages
from spanhook.instrument.formats.bedrock import (
    COHERE,
    LLAMA,
    MISTRAL,
    TITAN,
    AnyBody,
    BodyEmbeddings,
    Converse,
    Prompted,
)
from spanhook.instrument.formats.openai import Chat
from spanhook.instrument.layers import BOTOCORE
from spanhook.instrument.wire import Fields, Format, Transport, adapted, fields_of, list_of
from spanhook.model import Adapter, Args, Kwargs, exact_text

SERVICE = "bedrock-runtime"


class _Chat(Chat):
    """OpenAI's chat completions as Bedrock has them: usage is counted without being asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def asking(self, body: Fields) -> Fields | None:  # noqa: ARG002
        return None


FORMATS: dict[str, Format] = {
    "anthropic": Messages(),
    "nova": Converse(),
    "openai": _Chat(),
    "titan": Prompted(TITAN),
    "llama": Prompted(LLAMA),
    "mistral": Prompted(MISTRAL),
    "cohere": Prompted(COHERE),
    "embeddings": BodyEmbeddings(),
    "": AnyBody(),
}
"""The forms of bodies, by name."""


def form_of(model: str, body: Fields) -> str:
    """The form of a body: that of its model's vendor, whose name it may not have (profiles, imported models)."""
    if "embed" in model and ("inputText" in body or "texts" in body):
        return "embeddings"
    if "anthropic_version" in body or "anthropic.claude" in model:
        return "anthropic" if "messages" in body else ""
    if "inputText" in body:
        return "titan"
    if "messages" in body:
        return "nova" if _has_blocks(body) else "openai"
    if "message" in body:
        return "cohere"
    if "prompt" in body:
        if "meta.llama" in model or "max_gen_len" in body:
            return "llama"
        return "mistral" if "mistral" in model else ""
    return ""


def _has_blocks(body: Fields) -> bool:
    """Whether messages are written as in Converse: in blocks without a type."""
    if "inferenceConfig" in body or "schemaVersion" in body or "toolConfig" in body:
        return True
    contents = [list_of(fields_of(message).get("content")) for message in list_of(body.get("messages"))]
    return any(block and "type" not in block for content in contents for block in map(fields_of, content))


def chooser(layer: str, converse: Transport, invoked: Transport) -> Callable[[Any, Args, Kwargs], Adapter | None]:
    """A function that finds a call's adapter; it returns ``None`` for all that calls no model.

    Args:
        layer: The layer of the adapters.
        converse: How parameters are carried.
        invoked: How bodies are.
    """
    conversing, starting = adapted(Converse(), converse, layer), adapted(AnyBody(), StartedTransport(), layer)
    forms = {name: adapted(form, invoked, layer) for name, form in FORMATS.items()}

    def by_parameters(given: dict[str, Any]) -> Adapter:
        settle(given)
        return conversing

    def by_input(given: dict[str, Any]) -> Adapter:
        settle(given)
        return starting

    def by_body(given: dict[str, Any]) -> Adapter:
        body = settle_body(given)
        return forms[form_of(exact_text(given.get("modelId")), body)]

    operations: dict[Any, Callable[[dict[str, Any]], Adapter]] = {
        "Converse": by_parameters,
        "ConverseStream": by_parameters,
        "InvokeModel": by_body,
        "InvokeModelWithResponseStream": by_body,
        "StartAsyncInvoke": by_input,
    }

    named = operations.get

    def choose(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
        chosen = named(args[0] if args else kwargs.get("operation_name"))  # for calls of all services, so no function
        if chosen is None or instance.meta.service_model.service_name != SERVICE:
            return None
        return chosen(parameters_of(args, kwargs))

    return choose


_CONVERSE, _INVOKED = BotocoreTransport(), InvokedTransport()
UNKNOWN = adapted(AnyBody(), _INVOKED, BOTOCORE)
choose = chooser(BOTOCORE, _CONVERSE, _INVOKED)
