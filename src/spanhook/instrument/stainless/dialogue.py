"""APIs that take messages and separate instructions: reads and writes the fields of their requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.stainless.api import Api
from spanhook.instrument.stainless.describing import described
from spanhook.instrument.stainless.messages import (
    Part,
    Parts,
    Wire,
    by_prompt,
    finished,
    messages_in,
    rewrite,
    text_in,
)
from spanhook.instrument.stainless.options import Body, body_of, options_of, with_body
from spanhook.instrument.stainless.parsing import keep_what_is_parsed, parsing_failed
from spanhook.instrument.stainless.reading import fields_of, list_of
from spanhook.instrument.stainless.servers import Server
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Kwargs,
    Message,
    Request,
    Texts,
    in_pieces,
    text_of,
)

_TEXTS = {"text": "content", "tool_call_response": "response"}


def _nothing(_body: Body) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Dialogue(Api):
    """One such API.

    Attributes:
        layer: The layer of its adapters.
        server_of: Returns the server of a client's request.
        parts: The parts of its messages.
        operation: Its ``gen_ai.operation.name``.
        roles: Roles whose names differ from the conventions'.
        texts: How the text in its streams is read.
        output_type: The conventions' output type that a request's JSON asks for; empty if none.
        batch: The field with the requests of a batch, and the field of each with its body; empty if there are no
            batches.
    """

    layer: str
    server_of: Callable[[Any, str], Server]
    parts: Parts
    operation: str = "chat"
    roles: tuple[tuple[str, str], ...] = ()
    texts: Texts | None = None
    output_type: Callable[[Body], str] = _nothing
    batch: tuple[str, str] | None = None

    # ------------------------------------------------------------------------------------------ messages

    def to_message(self, wire: Any) -> Message:
        """A message in role/parts form; one with only tool results has the role ``tool``."""
        told = fields_of(wire)
        parts = list(self.parts.read(told.get("content")))
        found = bool(parts) and all(part.get("type") == "tool_call_response" for part in parts)
        return {"role": "tool" if found else str(told.get("role") or "assistant"), "parts": parts}

    def from_message(self, message: Message, like: Wire | None = None) -> list[Wire]:
        """A message on the wire, with the other keys of the message it replaces; one in the provider's form stays as it
        is.
        """
        if "parts" not in message:
            return [dict(message)]
        role = dict(self.roles).get(message["role"], message["role"])
        kept = like if like is not None and like.get("role") == role else {}
        return [{**kept, "role": role, "content": self.parts.content(message["parts"], kept.get("content"))}]

    def said(self, value: Any, expected: str) -> list[Part]:
        """The content of a hook's answer, given as text, a message, or several.

        Raises:
            TypeError: It is none of these; ``expected`` says what it may be.
        """
        messages = messages_in(value, expected, key="role")
        content = [self.from_message(message)[0]["content"] for message in messages]
        texts = [[{"type": "text", "text": one}] if isinstance(one, str) else one for one in content]
        return [part for parts in texts for part in parts]

    def output(self, result: Any) -> list[Message]:
        """The output messages of a result."""
        told = fields_of(self.sdk.result_of(result))
        if "content" not in told:
            return []
        return [finished(self.to_message(told), told.get("stop_reason"))]

    # ------------------------------------------------------------------------------------------ requests

    def _prompts(self, body: Body) -> list[Body]:
        """The request bodies, one for each prompt."""
        if self.batch is None:
            return [body]
        field, inner = self.batch
        return [fields_of(fields_of(one).get(inner)) for one in list_of(body.get(field))]

    def _with_prompts(self, body: Body, prompts: list[Body]) -> Body:
        if self.batch is None:
            return prompts[0]
        field, inner = self.batch
        requests = zip(list_of(body.get(field)), prompts, strict=True)
        return {**body, field: [{**fields_of(one), inner: prompt} for one, prompt in requests]}

    def start(self, instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
        body = body_of(args, kwargs)
        prompts = self._prompts(body)
        models = {str(prompt.get("model") or "") for prompt in prompts}
        server = self.server_of(instance, options_of(args, kwargs).url)
        attributes = described(server, (models.pop() if len(models) == 1 else "") or None, kwargs, body)
        attributes[semconv.GEN_AI_OPERATION_NAME] = self.operation
        asked = {self.output_type(prompt) for prompt in prompts}
        if len(asked) == 1 and asked != {""}:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = asked.pop()
        level = fields_of(body.get("output_config")).get("effort")
        if isinstance(level, str):
            attributes[semconv.GEN_AI_REQUEST_REASONING_LEVEL] = level
        return attributes

    def request(self, _instance: Any, args: Args, kwargs: Kwargs) -> Request:
        body = body_of(args, kwargs)
        prompts = self._prompts(body)
        tools = [tool for prompt in prompts for tool in list_of(prompt.get("tools"))]
        systems = (text_in(self.parts.read(prompt.get("system")), "\n") for prompt in prompts)
        return Request(
            messages=[self.to_message(one) for prompt in prompts for one in list_of(prompt.get("messages"))],
            system="\n".join(dict.fromkeys(system for system in systems if system)),
            tools=[str(fields_of(tool).get("name") or fields_of(tool).get("type") or "") for tool in tools],
            tool_definitions=tools,
            inputs=body.get("messages") if self.batch is None else prompts,
            model=str(prompts[0].get("model") or "") if prompts else "",
        )

    def carries(self, _instance: Any, args: Args, kwargs: Kwargs) -> Carried:
        sent = (list_of(prompt.get("messages")) for prompt in self._prompts(body_of(args, kwargs)))
        return [in_pieces(self._texts(messages[-1])) if messages else None for messages in sent]

    def _texts(self, wire: Any) -> list[str]:
        """The texts of a message, including tool results, even if empty."""
        parts = self.to_message(wire)["parts"]
        said = [part.get(_TEXTS[part["type"]]) for part in parts if part.get("type") in _TEXTS]
        return [text_of(one) or "" for one in said]

    def rewrite(self, _instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
        body = body_of(args, kwargs)
        prompts: list[Any] = [dict(prompt) for prompt in self._prompts(body)]
        if change.inputs is not None:
            given = list(change.inputs)
            prompts = [{**prompts[0], "messages": given}] if self.batch is None else given
        if change.messages is not None:
            sent = [list_of(prompt.get("messages")) for prompt in prompts]
            new = by_prompt(change.messages, [len(messages) for messages in sent])
            for prompt, natives, messages in zip(prompts, sent, new, strict=True):
                prompt["messages"] = rewrite(natives, messages, self.to_message, self.from_message)
        for prompt in prompts:
            if change.system is not None:
                instructions: Sequence[Part] = [{"type": "text", "content": change.system}]
                prompt["system"] = self.parts.content(instructions, prompt.get("system"))
            if change.model is not None:
                prompt["model"] = change.model
        return with_body(args, kwargs, self._with_prompts(body, prompts))

    def adapter(self) -> Adapter:
        return Adapter(
            kind="llm.call",
            layer=self.layer,
            span_kind=SpanKind.CLIENT,
            start=self.start,
            response=self.response,
            request=self.request,
            message=self.to_message,
            carries=self.carries,
            output=self.output,
            rewrite=self.rewrite,
            takes=frozenset(("messages", "system", "inputs", "model")),
            prepare=keep_what_is_parsed,
            failure=parsing_failed(self.response),
            answer=self.answer,
            stream_of=self.sdk.stream_of,
            chunks=self.chunks,
            answer_chunks=self.answer_chunks,
            texts=self.texts,
            body=self.body,
            opaque=True,
        )
