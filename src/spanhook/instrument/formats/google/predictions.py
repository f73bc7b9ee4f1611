"""Pictures and videos, which Google's models make of a prompt. Videos come later: what they use is not known here."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.google.errors import error_of
from spanhook.instrument.formats.google.reading import field, usage_of
from spanhook.instrument.wire import Fields, Format, Payload, list_of, one_prompt, text_in
from spanhook.model import Attributes, Carried, Change, Message, Request, Usage, exact_text


class Predictions(Format):
    """Pictures or videos.

    Args:
        output: Their ``gen_ai.output.type``.
    """

    streams = False
    takes = frozenset(("messages", "inputs", "model"))
    beside = ("parameters.negativePrompt",)

    def __init__(self, output: str) -> None:
        self._output = output

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = "generate_content"
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = self._output
        count = field(body.get("parameters"), "sampleCount")
        if type(count) is int and count > 1:
            attributes[semconv.GEN_AI_REQUEST_CHOICE_COUNT] = count

    def request(self, body: Fields) -> Request:
        prompts = _prompts_in(body)
        messages: list[Message] = [{"role": "user", "parts": [{"type": "text", "content": one}]} for one in prompts]
        return Request(messages=messages, inputs=prompts, model=exact_text(body.get("model")))

    def carries(self, body: Fields) -> Carried:
        return [*_prompts_in(body)] or [None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            _put(body, [str(one) for one in change.inputs])
        if change.messages is not None:
            _put(body, [text_in(message["parts"]) for message in one_prompt(change.messages)])
        if change.model is not None:
            body["model"] = change.model

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return {}, usage_of(field(told, "usageMetadata"))

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """The answer, which only Google's own JSON can give.

        Raises:
            TypeError: It is something else.
        """
        if not isinstance(value, dict):
            raise TypeError(f"an answer is the response's JSON, not {type(value).__name__}")
        return value

    def error(self, status: int, reason: str) -> Payload:
        return error_of(status, reason)


def _prompts_in(body: Fields) -> list[str]:
    prompts = (field(one, "prompt") for one in list_of(body.get("instances")))
    return [one for one in prompts if isinstance(one, str)]


def _put(body: Payload, prompts: list[str]) -> None:
    """Ask for other prompts.

    Raises:
        ValueError: There are more or fewer than before.
    """
    before = list_of(body.get("instances"))
    if len(prompts) != len(_prompts_in(body)) or len(prompts) != len(before):
        raise ValueError(f"the request has {len(_prompts_in(body))} prompts; the hook gave {len(prompts)}")
    body["instances"] = [{**one, "prompt": prompt} for one, prompt in zip(before, prompts, strict=True)]
