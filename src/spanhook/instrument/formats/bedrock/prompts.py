"""Text models with bodies of their own, that complete a prompt: Titan's, Llama's, Mistral's, Cohere's.

https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.bedrock.describing import Names, note_parameters
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    Format,
    Payload,
    fields_of,
    finished,
    list_of,
    messages_in,
    one_prompt,
    text_in,
    text_of,
    usage_in_stream,
)
from spanhook.model import (
    Attributes,
    Carried,
    Change,
    Chunks,
    ChunkText,
    Leaf,
    Message,
    Request,
    Route,
    Texts,
    Usage,
    exact_text,
    leaves,
    with_texts,
)


@dataclass(frozen=True)
class Body:
    """How the bodies of one family of models are written.

    Attributes:
        prompt: The request's prompt.
        parameters: The request's parameters.
        within: The object that holds these; none if the request itself does.
        answers: The list of answers in a response; none if there is one, which the response itself is.
        text: An answer's text.
        reason: Why it has ended.
        input_tokens, output_tokens: The response's usage; the latter may be in each answer.
        so_far: The output of a stream up to a chunk, if its chunks name it otherwise.
    """

    prompt: str
    parameters: Names
    text: str
    reason: str
    within: str = ""
    answers: str = ""
    input_tokens: str = ""
    output_tokens: str = ""
    so_far: str = ""


TITAN = Body(
    prompt="inputText",
    within="textGenerationConfig",
    parameters={
        "temperature": ("temperature",),
        "max_tokens": ("maxTokenCount",),
        "top_p": ("topP",),
        "stop": ("stopSequences",),
    },
    answers="results",
    text="outputText",
    reason="completionReason",
    input_tokens="inputTextTokenCount",
    output_tokens="tokenCount",
    so_far="totalOutputTextTokenCount",
)
LLAMA = Body(
    prompt="prompt",
    parameters={"temperature": ("temperature",), "max_tokens": ("max_gen_len",), "top_p": ("top_p",)},
    text="generation",
    reason="stop_reason",
    input_tokens="prompt_token_count",
    output_tokens="generation_token_count",
    so_far="generation_token_count",
)
MISTRAL = Body(
    prompt="prompt",
    parameters={
        "temperature": ("temperature",),
        "max_tokens": ("max_tokens",),
        "top_p": ("top_p",),
        "top_k": ("top_k",),
        "stop": ("stop",),
    },
    answers="outputs",
    text="text",
    reason="stop_reason",
)
COHERE = Body(
    prompt="message",
    parameters={
        "temperature": ("temperature",),
        "max_tokens": ("max_tokens",),
        "top_p": ("p",),
        "top_k": ("k",),
        "stop": ("stop_sequences",),
    },
    text="text",
    reason="finish_reason",
)


class Prompted(Format):
    """Completions of a prompt.

    Args:
        form: How bodies are written.
    """

    takes = frozenset(("messages", "inputs", "model"))

    def __init__(self, form: Body) -> None:
        self._form = form

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = "text_completion"
        given = fields_of(body.get(self._form.within)) if self._form.within else body
        note_parameters(attributes, given, self._form.parameters)

    def request(self, body: Fields) -> Request:
        prompt = body.get(self._form.prompt)
        messages = [] if prompt is None else [_message("user", text_of(prompt))]
        return Request(messages=messages, inputs=prompt, model=exact_text(body.get("model")))

    def carries(self, body: Fields) -> Carried:
        return [text_of(body.get(self._form.prompt)) or None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body[self._form.prompt] = change.inputs
        if change.messages is not None:
            given = [self.message(one) for one in one_prompt(change.messages)]
            body[self._form.prompt] = "\n".join(text_in(one["parts"]) for one in given)
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        told: Message = _message("user", wire) if isinstance(wire, str) else wire
        return told if "parts" in told else _message(told["role"], told["content"])

    # ------------------------------------------------------------------------------------------ results

    def answers_in(self, told: Fields) -> list[Fields]:
        """The answers of a response or chunk."""
        return [fields_of(one) for one in list_of(told.get(self._form.answers))] if self._form.answers else [told]

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        answers = self.answers_in(told)
        attributes: Attributes = {}
        reasons = tuple(reason for one in answers if (reason := text_of(one.get(self._form.reason))))
        if reasons:
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = reasons
        return attributes, self._usage(told, [one.get(self._form.output_tokens) for one in answers])

    def _usage(self, told: Fields, outputs: list[Any]) -> Usage | None:
        name = self._form.input_tokens
        if not name or told.get(name) is None:
            return None
        used = Usage()
        used.input_tokens = used.count(told[name], "input_tokens")
        used.output_tokens = sum(used.count(one, "output_tokens") for one in outputs)
        return used

    def output(self, told: Fields) -> list[Message]:
        form = self._form
        said = [one for one in self.answers_in(told) if form.text in one]
        return [finished(_message("assistant", text_of(one[form.text])), one.get(form.reason)) for one in said]

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return _Chunks(self, self._form, body, construct)

    def texts(self, chunk_like: ChunkLike) -> Texts:  # noqa: ARG002 - chunks are JSON
        return _Texts(self._form)

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """An answer on the wire, for text, a complete answer, or messages in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        form = self._form
        if isinstance(value, dict) and (form.answers or form.text) in value:
            return value
        messages = messages_in(value, "an answer is text, a response of the model or messages", key="role")
        said = "".join(text_in(self.message(message)["parts"]) for message in messages)
        one: Payload = {form.text: said, form.reason: "stop"}
        return self.whole([one], 0, 0)

    def whole(self, answers: list[Payload], read: Any, written: Any) -> Payload:
        """A response with these answers and this usage."""
        form = self._form
        if form.output_tokens:
            answers = [{**one, form.output_tokens: written} for one in answers]
        made: Payload = {form.answers: answers} if form.answers else answers[0]
        return {**made, form.input_tokens: read} if form.input_tokens else made

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        form = self._form
        if not form.answers or not form.so_far:
            yield "", payload
            return
        for one in self.answers_in(payload):
            counts = {form.so_far: one.get(form.output_tokens), form.input_tokens: payload.get(form.input_tokens)}
            yield "", {form.text: one.get(form.text), form.reason: one.get(form.reason), "index": 0, **counts}


def _message(role: str, text: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


class _Chunks:
    """Counts the characters of a stream, and keeps its counts and finish reason; the text only if ``keep``."""

    def __init__(self, format: Prompted, form: Body, body: Fields, construct: Construct) -> None:
        self.keep = self.complete = False
        self._format, self._form, self._body, self._construct = format, form, body, construct
        self._reason = ""
        self._text: list[str] = []
        self._characters = 0
        self._read: Any = None
        self._written: Any = None

    def add(self, chunk: Any) -> bool:
        told, form = fields_of(chunk), self._form
        for one in self._format.answers_in(told) if form.answers in told else [told]:
            text = text_of(one.get(form.text))
            self._characters += len(text)
            if self.keep:
                self._text.append(text)
            self._reason = text_of(one.get(form.reason)) or self._reason
        if form.input_tokens and told.get(form.input_tokens) is not None:
            self._read = told[form.input_tokens]
        if form.so_far and told.get(form.so_far) is not None:
            self._written = told[form.so_far]
        self.complete = bool(self._reason)
        return True

    def _whole(self) -> Payload:
        one: Payload = {self._form.text: "".join(self._text), self._form.reason: self._reason or None}
        return self._format.whole([one], self._read, self._written)

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = self._format.response(self._whole())
        prompt = {"prompt": self._body.get(self._form.prompt)}
        reported = None if self._written is None else used
        return attributes, usage_in_stream(reported, prompt, self._characters, is_whole=self.complete)

    def result(self) -> Any:
        return self._construct(self._whole())


class _Texts:
    """The text of chunks, and in events at the end of a stream that repeat it."""

    def __init__(self, form: Body) -> None:
        self._form = form

    def read(self, chunk: Any) -> ChunkText:
        form, told = self._form, fields_of(chunk)
        grows, whole = list[Leaf](), list[Leaf]()
        ended = bool(told.get(form.reason))
        for name, value in told.items():
            if name == form.text:
                grows += leaves(value, (name,), (0,))
            elif name == form.answers:
                for position, one in enumerate(map(fields_of, list_of(value))):
                    grows += leaves(one.get(form.text), (name, position, form.text), (position,))
                    ended = ended or bool(one.get(form.reason))
            elif name not in (form.reason, "event_type", "generation_id", "response_id"):
                whole += leaves(value, (name,), (name,))
        return ChunkText(grows, whole, lambda _channel: ended)

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts) if texts else chunk

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        if len(leaf.route) > 1:
            return {self._form.answers: [{self._form.text: text, self._form.reason: None}]}
        kept = {name: value for name, value in chunk.items() if name == "event_type"}
        return {**kept, self._form.text: text}
