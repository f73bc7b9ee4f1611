"""OpenAI's other endpoints that use a model: images, sound, videos, moderation, and jobs that run later.

They are similar enough for a table: which field holds the input, and what the result is. Jobs that run later (batches,
evaluations, fine-tuning, OpenAI's agents and assistants) are gated when they are requested; their later usage is not
known here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.layers import OPENAI
from spanhook.instrument.openai.deployments import with_model
from spanhook.instrument.openai.describing import describe
from spanhook.instrument.openai.events import EventChunks, Passing, used_in
from spanhook.instrument.openai.items import rewrite, to_message, to_messages
from spanhook.instrument.openai.messages import PARTS
from spanhook.instrument.openai.reading import note
from spanhook.instrument.openai.responses import RESPONSES
from spanhook.instrument.openai.sdk import SDK, result_of, stream_of
from spanhook.instrument.stainless import Api, Event, Payload, body_of, fields_of, one_prompt, options_of, with_body
from spanhook.model import Adapter, Args, Attributes, Body, Change, Kwargs, Message, Request, Usage


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One endpoint.

    Attributes:
        operation: Its ``gen_ai.operation.name``: the conventions' name if they have one.
        api: Its ``openai.api.type``.
        output: Its ``gen_ai.output.type``; empty if nothing is generated.
        content: The field with the input: text, texts, or messages; dotted if nested.
        system: The field with instructions.
    """

    operation: str
    api: str
    output: str = ""
    content: str = ""
    system: str = ""

    # ------------------------------------------------------------------------------------------ requests

    def start(self, instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
        attributes = describe(instance, args, kwargs, body_of(args, kwargs))
        attributes[semconv.GEN_AI_OPERATION_NAME] = self.operation
        attributes[semconv.OPENAI_API_TYPE] = self.api
        if self.output:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = self.output
        if self.operation == _RUNS:
            _note_agent(attributes, body_of(args, kwargs), options_of(args, kwargs).url)
        return attributes

    def request(self, _instance: Any, args: Args, kwargs: Kwargs) -> Request:
        body = body_of(args, kwargs)
        content = self._content(body)
        messages = _messages(content)
        files = [{"type": "upload", "name": name} for name in _files(options_of(args, kwargs).files)]
        if files:
            messages = messages or [{"role": "user", "parts": []}]
            messages[-1]["parts"].extend(files)
        return Request(
            messages=messages,
            system=str(body.get(self.system) or ""),
            inputs=content,
            model=str(body.get("model") or ""),
        )

    def rewrite(self, instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
        body = dict(body_of(args, kwargs))
        if change.inputs is not None:
            self._put(body, change.inputs)
        if change.messages is not None:
            self._put(body, _rewritten(self._content(body), change.messages))
        if change.system is not None:
            body[self.system] = change.system
        if change.model is not None:
            with_model(instance, args, kwargs, body, change.model)
        return with_body(args, kwargs, body)

    def _content(self, body: Mapping[str, Any]) -> Any:
        around, _, field = self.content.rpartition(".")
        return (fields_of(body.get(around)) if around else body).get(field)

    def _put(self, body: dict[str, Any], content: Any) -> None:
        around, _, field = self.content.rpartition(".")
        if around:
            body[around] = {**fields_of(body.get(around)), field: content}
        else:
            body[field] = content

    # ------------------------------------------------------------------------------------------ results

    def response(self, result: Any) -> tuple[Attributes, Usage | None]:
        told = fields_of(result_of(result))
        attributes: Attributes = {}
        note(attributes, told)
        return attributes, used_in(told)

    def messages_of(self, result: Any) -> list[Message]:
        """The output messages, if the output is text."""
        told = fields_of(result_of(result))
        said = result if isinstance(result, str) else told.get("text")
        if self.output != "text" or not isinstance(said, str):
            return []
        return [{"role": "assistant", "parts": [{"type": "text", "content": said}]}]

    def payload(self, args: Args, kwargs: Kwargs, value: Any) -> Payload:
        """The answer on the wire, for what the SDK would return or its JSON; text if the endpoint returns text.

        Raises:
            TypeError: It is none of these.
        """
        if hasattr(value, "to_dict"):
            value = value.to_dict(mode="json", warnings=False)
        if isinstance(value, str) and self.output == "text":
            value = {"text": value}
        if not isinstance(value, dict):
            raise TypeError(f"an answer to {self.api} is what the SDK returns, or its JSON, not {type(value).__name__}")
        return {"model": str(body_of(args, kwargs).get("model") or ""), **value}

    def events(self, _args: Args, _kwargs: Kwargs, payload: Payload) -> Iterator[Event]:
        """The answer as a stream.

        Raises:
            TypeError: It is not text.
        """
        if self.output != "text":
            raise TypeError(f"a stream of {self.api} cannot be answered, only refused")
        said = payload.get("text")
        yield "transcript.text.delta", {"type": "transcript.text.delta", "delta": said}
        yield "transcript.text.done", {"type": "transcript.text.done", "text": said}

    def adapter(self) -> Adapter:
        api = Api(sdk=SDK, payload=self.payload, events=self.events, response=self.response, chunks=EventChunks)
        takes = {"model", *(("messages", "inputs") if self.content else ()), *(("system",) if self.system else ())}

        def body(instance: Any, args: Args, kwargs: Kwargs, result: Any) -> Body | None:
            found = api.body(instance, args, kwargs, result) if isinstance(result, SDK.raw) else None
            if found is None or self.output in ("text", "image", ""):
                return found
            return replace(found, chunks=Passing())  # sound: nothing to read or keep

        return Adapter(
            kind="llm.call",
            layer=OPENAI,
            span_kind=SpanKind.CLIENT,
            start=self.start,
            response=self.response,
            request=self.request,
            message=to_message,
            output=self.messages_of,
            rewrite=self.rewrite,
            takes=frozenset(takes),
            answer=api.answer,
            stream_of=stream_of,
            chunks=EventChunks,
            answer_chunks=api.answer_chunks,
            body=body,
            named_by=semconv.GEN_AI_AGENT_NAME if self.operation == _RUNS else "",
            opaque=True,
        )


_MAKES = "generate_content"
_RUNS = "invoke_agent"
_THREAD = re.compile(r"/threads/([^/]+)/runs", re.IGNORECASE)


def _note_agent(attributes: Attributes, body: Mapping[str, Any], url: str) -> None:
    """Which agent of OpenAI's is run, and in which conversation."""
    agent, thread = body.get("assistant_id"), _THREAD.search(url)
    if isinstance(agent, str) and agent:
        attributes[semconv.GEN_AI_AGENT_ID] = agent
    if thread:
        attributes[semconv.GEN_AI_CONVERSATION_ID] = thread[1]


def _messages(content: Any) -> list[Message]:
    if content is None or isinstance(content, str):
        return to_messages(content)
    if not isinstance(content, list):
        return []
    if all(isinstance(one, str) for one in content):
        return [message for one in content for message in to_messages(one)]
    if any("role" in fields_of(one) for one in content):
        return to_messages(content)
    return [{"role": "user", "parts": list(PARTS.read(content))}]


def _rewritten(content: Any, given: Any) -> Any:
    """The field's value for messages that a hook gave; files are not part of it, and stay."""
    if given and isinstance(given[0], list | tuple):
        given = one_prompt(given)
    if isinstance(content, list) and content:
        if all(isinstance(one, str) for one in content):
            return [_text(message) for message in given]
        if any("role" in fields_of(one) for one in content):
            return rewrite(content, given)
        return PARTS.content([part for message in given for part in _said(message)], content)
    return "".join(_text(message) for message in given)


def _said(message: Any) -> list[dict[str, Any]]:
    """The parts of a message except its files."""
    if "parts" not in message:
        return list(PARTS.read(message["content"]))
    return [part for part in message["parts"] if part.get("type") != "upload"]


def _text(message: Any) -> str:
    if isinstance(message, str):
        return message
    return "".join(str(part.get("content", "")) for part in _said(message) if part.get("type") == "text")


def _files(files: Any) -> list[str]:
    """The form fields that hold files."""
    named = files.items() if isinstance(files, dict) else files or ()
    return [str(name) for name, _ in named]


def _row(operation: str, api: str, output: str = "", content: str = "", system: str = "") -> Adapter:
    return Endpoint(operation=operation, api=api, output=output, content=content, system=system).adapter()


_SPOKEN = _row(_MAKES, "audio.transcriptions", "text", "prompt")
_RUN = _row(_RUNS, "threads.runs", content="additional_messages", system="instructions")
_VIDEO = _row(_MAKES, "videos", "video", "prompt")

#: Endpoints by the end of their path, in which a star stands for an id.
ENDPOINTS: dict[str, Adapter] = {
    "/images/generations": _row(_MAKES, "images.generations", "image", "prompt"),
    "/images/edits": _row(_MAKES, "images.edits", "image", "prompt"),
    "/images/variations": _row(_MAKES, "images.variations", "image"),
    "/audio/speech": _row(_MAKES, "audio.speech", "speech", "input", "instructions"),
    "/audio/transcriptions": _SPOKEN,
    "/audio/translations": _row(_MAKES, "audio.translations", "text", "prompt"),
    "/moderations": _row("moderation", "moderations", content="input"),
    "/videos": _VIDEO,
    "/videos/edits": _VIDEO,
    "/videos/extensions": _VIDEO,
    "/videos/*/remix": _VIDEO,
    "/responses/input_tokens": replace(
        RESPONSES,
        start=lambda instance, args, kwargs: {
            **RESPONSES.start(instance, args, kwargs),  # pyright: ignore[reportGeneralTypeIssues]
            semconv.GEN_AI_OPERATION_NAME: "count_tokens",
            semconv.OPENAI_API_TYPE: "responses.input_tokens",
        },
    ),
    "/threads/runs": _row(_RUNS, "threads.runs", content="thread.messages", system="instructions"),
    "/threads/*/runs": _RUN,
    "/threads/*/runs/*/submit_tool_outputs": _row(_RUNS, "threads.runs", content="tool_outputs"),
    "/agents/sessions": _row(_RUNS, "agents.sessions", content="input"),
    "/agents/sessions/*/events": _row(_RUNS, "agents.sessions", content="events"),
    "/agents/automations/*/invocations": _row(_RUNS, "agents.automations"),
    "/batches": _row("batch", "batches"),
    "/evals/*/runs": _row("evaluate", "evals.runs"),
    "/fine_tuning/alpha/graders/run": _row("evaluate", "graders", content="model_sample"),
    "/fine_tuning/jobs": _row("fine_tune", "fine_tuning.jobs"),
}
