"""Streamed text under hooks with windows: whatever the chunks, nothing planted gets out, and all else does."""

import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from anthropic import Anthropic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import LLM, BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, GenerationChunk
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from openai import OpenAI

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.checks import checks_of
from spanhook.cli.conformance.checks.cells import ways_of
from spanhook.cli.conformance.libraries.hearing import listeners
from spanhook.cli.conformance.libraries.langchain_core import CHAT_WAYS
from spanhook.cli.conformance.libraries.runnables import V3, lacks_v3
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_replies import Call
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.cli.conformance.subject import Subject
from spanhook.settings import Settings
from spanhook.testing import recorder
from tests.masking import CARD, MASK, SECRET, TEXT, Masking, pieces

ARGUMENTS = {"card": SECRET, "note": "pay it"}
CUTS = st.lists(st.integers(1, len(TEXT) - 1), max_size=12)


@pytest.fixture(scope="module")
def openai_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="module")
def anthropic_server() -> Iterator[AnthropicServer]:
    with AnthropicServer() as server:
        yield server


many = settings(
    max_examples=settings().max_examples * 3 // 20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}


# ------------------------------------------------------------------------------------------------- clients


def chat(client: OpenAI) -> str:
    chunks = list(client.chat.completions.create(model="m", stream=True, **ASKED))
    assert SECRET not in repr(chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def chat_helper(client: OpenAI) -> str:
    with client.chat.completions.stream(model="m", **ASKED) as stream:
        events = list(stream)
        assert SECRET not in repr(events)
        return stream.get_final_completion().choices[0].message.content or ""


def completion(client: OpenAI) -> str:
    chunks = list(client.completions.create(model="m", prompt="hi", stream=True))
    assert SECRET not in repr(chunks)
    return "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)


def responses(client: OpenAI) -> str:
    events: list[Any] = list(client.responses.create(model="m", input="hi", stream=True))
    assert SECRET not in repr(events)
    said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    done = [event.text for event in events if event.type == "response.output_text.done"]
    assert [said] == done
    assert events[-1].response.output_text == said
    numbers = [event.type for event in events]
    assert numbers.index("response.output_text.done") > max(
        index for index, kind in enumerate(numbers) if kind == "response.output_text.delta"
    )
    return said


def responses_helper(client: OpenAI) -> str:
    with client.responses.stream(model="m", input="hi") as stream:
        events = list(stream)
        assert SECRET not in repr(events)
        return stream.get_final_response().output_text


OPENAI: list[Callable[[OpenAI], str]] = [chat, chat_helper, completion, responses, responses_helper]


@pytest.mark.parametrize("ask", OPENAI, ids=lambda ask: ask.__name__)
def test_openai(ask: Callable[[OpenAI], str], openai_server: OpenAIServer) -> None:
    client = OpenAI(base_url=openai_server.url, api_key="test", max_retries=0)

    @many
    @given(cuts=CUTS)
    def split(cuts: list[int]) -> None:
        openai_server.script(Reply(text=TEXT, pieces=pieces(TEXT, cuts)))
        with recorder(Hooks(Masking()), settings=Settings(content="SPAN_AND_EVENT")) as seen:
            assert ask(client) == CARD.sub(MASK, TEXT)
        assert SECRET not in repr([span.to_json() for span in seen.spans])
        assert [one.decision for one in seen.operations[0].decisions] == ["replace"]

    split()


@pytest.mark.parametrize("beta", [False, True], ids=["messages", "beta"])
def test_anthropic(beta: bool, anthropic_server: AnthropicServer) -> None:
    client = Anthropic(base_url=anthropic_server.url, api_key="test", max_retries=0)
    messages: Any = client.beta.messages if beta else client.messages
    written = json.dumps(ARGUMENTS)

    @many
    @given(cuts=CUTS)
    def split(cuts: list[int]) -> None:
        anthropic_server.script(Reply(events=tuple(anthropic_events(cuts, written))))
        with recorder(Hooks(Masking())) as seen:
            with messages.stream(model="m", max_tokens=9, **ASKED) as stream:
                events = list(stream)
            assert SECRET not in repr(events)
            thought, text, call = stream.get_final_message().content
        assert (thought.thinking, text.text) == (CARD.sub(MASK, TEXT), CARD.sub(MASK, TEXT))
        assert call.input == {**ARGUMENTS, "card": MASK}
        assert SECRET not in repr(seen.operations[0].response)

    split()


def anthropic_events(cuts: list[int], written: str) -> Iterator[dict[str, Any]]:
    """Thoughts, text and a tool call, each split."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None}}
    blocks: list[tuple[dict[str, Any], str, str, str]] = [
        ({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", TEXT),
        ({"type": "text", "text": ""}, "text_delta", "text", TEXT),
        ({"type": "tool_use", "id": "t", "name": "pay", "input": {}}, "input_json_delta", "partial_json", written),
    ]
    for index, (block, kind, name, said) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for piece in pieces(said, cuts):
            yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


# ------------------------------------------------------------------------------------------------- LangChain


OVER_ANTHROPIC = ["anthropic"] if find_spec("langchain_anthropic") is not None else []
"""LangChain's package for Anthropic, which needs a newer LangChain than the oldest that is supported."""


def openai_model(server: OpenAIServer) -> BaseChatModel:
    return ChatOpenAI(base_url=server.url, api_key="test", model="m", max_retries=0)  # pyright: ignore[reportArgumentType]


def anthropic_model(server: AnthropicServer) -> BaseChatModel:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(base_url=server.url, api_key="test", model="m", max_retries=0)  # pyright: ignore[reportCallIssue]


class Listener(BaseCallbackHandler):
    """Keeps what callbacks are told."""

    def __init__(self) -> None:
        self.tokens = ""
        self.told: list[Any] = []

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, **more: Any) -> None:
        self.tokens += chunk.text if chunk is not None else token
        self.told.append((token, chunk))

    def on_llm_end(self, response: Any, **more: Any) -> None:
        self.told.append(response)


def streaming(model: BaseChatModel, heard: Listener) -> Any:
    whole: Any = None
    for chunk in model.stream("hi", config={"callbacks": [heard]}):
        assert SECRET not in repr(chunk)
        whole = chunk if whole is None else whole + chunk
    return whole


def in_a_graph(model: BaseChatModel, heard: Listener) -> Any:
    """LangGraph's `messages` mode gets tokens through callbacks, of a model that is only invoked."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    last: Any = None
    for mode, said in builder.compile().stream({"messages": [("user", "hi")]}, stream_mode=["messages", "values"]):
        assert SECRET not in repr(said)
        if mode == "messages":
            heard.tokens += said[0].text
        else:
            last = said
    return last["messages"][-1]


@pytest.mark.every_value
@pytest.mark.parametrize("use", [streaming, in_a_graph], ids=lambda use: use.__name__)
@pytest.mark.parametrize("library", ["openai", *OVER_ANTHROPIC])
def test_langchain(
    library: str, use: Callable[..., Any], openai_server: OpenAIServer, anthropic_server: AnthropicServer
) -> None:
    model = openai_model(openai_server) if library == "openai" else anthropic_model(anthropic_server)
    server = openai_server if library == "openai" else anthropic_server

    @many
    @given(cuts=CUTS)
    def split(cuts: list[int]) -> None:
        server.script(Reply(text=TEXT, pieces=pieces(TEXT, cuts)))
        heard = Listener()
        with recorder(Hooks(Masking())) as seen:
            whole = use(model, heard)
        assert whole.text == CARD.sub(MASK, TEXT)
        assert heard.tokens == CARD.sub(MASK, TEXT)
        assert SECRET not in repr(heard.told)
        (call,) = [op for op in seen.operations if op.kind == "llm.call"]
        assert [one.decision for one in call.decisions] == ["replace"]

    split()


def test_arguments_of_tool_calls_are_made_anew(openai_server: OpenAIServer) -> None:
    model = openai_model(openai_server)
    openai_server.script(Reply(calls=(Call("pay", ARGUMENTS),)))
    with recorder(Hooks(Masking())):
        whole = streaming(model, Listener())
    assert [(call["name"], call["args"], call["id"]) for call in whole.tool_calls] == [
        ("pay", {**ARGUMENTS, "card": MASK}, "call_1")
    ]


class Delegating(BaseChatModel):
    """Streams what its base class streams, and tells callbacks of it itself if it is given any."""

    said: tuple[str, ...] = ("The card 4111-1111-", "1111-1111 is mine", ", I say")

    @property
    def _llm_type(self) -> str:
        return "delegating"

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for piece in self.said:
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


class Below(Delegating):
    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield from super()._stream(messages, *args, **kwargs)


class Eager(Delegating):
    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        from langchain_core.language_models.chat_models import generate_from_stream

        return generate_from_stream(self._stream(messages, run_manager=run_manager))

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for chunk in super()._stream(messages):
            if kwargs.get("run_manager"):
                kwargs["run_manager"].on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


class Telling(Delegating):
    """Has only sync methods, and tells callbacks itself, also if a thread of LangChain's calls it for async code."""

    said: tuple[str, ...] = ("quartz", " zebra", " lagoon")

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(self.said)))])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in super()._stream(messages):
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


class Falling(Delegating):
    """Falls back on telling callbacks itself, if its stream breaks."""

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        try:
            list(self._stream(messages, broken=True))
        except ConnectionError:
            for piece in self.said:
                run_manager.on_llm_new_token(piece)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(self.said)))])

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield from super()._stream(messages, *args, **kwargs)
        if kwargs.get("broken"):
            raise ConnectionError("cut off")


def test_what_a_model_says_in_place_of_a_stream_is_held_back() -> None:
    heard = Listener()
    with recorder(Hooks(Masking())):
        assert Falling().invoke("hi", config={"callbacks": [heard]}).text == "The card [card] is mine, I say"
    assert SECRET not in repr(heard.told)
    assert SECRET not in heard.tokens


def test_a_method_that_reads_that_of_its_base_class_is_shown_once() -> None:
    heard = Listener()
    with recorder(Hooks(Masking())) as seen:
        assert streaming(Below(), heard).text == "The card [card] is mine, I say"
    assert heard.tokens == "The card [card] is mine, I say"
    assert len(seen.operations[0].decisions) == 1


def test_a_model_that_tells_callbacks_itself_tells_them_what_was_decided() -> None:
    heard = Listener()
    with recorder(Hooks(Masking())):
        assert Eager().invoke("hi", config={"callbacks": [heard]}).text == "The card [card] is mine, I say"
    assert SECRET not in repr(heard.told)
    assert SECRET not in heard.tokens


class Writing(LLM):
    """A model of plain text that reads its own stream, and tells callbacks of it."""

    @property
    def _llm_type(self) -> str:
        return "writing"

    def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        whole = ""
        for chunk in self._stream(prompt):
            run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            whole += chunk.text
        return whole

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[GenerationChunk]:
        for piece in Delegating().said:
            yield GenerationChunk(text=piece)


def test_a_model_of_plain_text_tells_callbacks_what_was_decided() -> None:
    heard = Listener()
    with recorder(Hooks(Masking())):
        said = Writing().invoke("hi", config={"callbacks": [heard]})
    assert said == heard.tokens == "The card [card] is mine, I say"
    assert SECRET not in repr(heard.told)


@pytest.mark.every_value
@pytest.mark.parametrize("way", ["stream", "astream", "events", "v3", "av3"])
def test_a_model_without_async_methods_tells_callbacks_what_was_decided(way: str) -> None:
    lacking = V3 if lacks_v3(Telling) else ()
    ways = {name: use for name, use in CHAT_WAYS.items() if name == way and name not in lacking}
    said = "".join(Telling().said)
    subject = Subject("telling", "llm.call", lambda _body: Telling(), ways, {}, said=said, listeners=listeners)
    assert [checks_of(one)["window"]().state for one in ways_of(subject)] == ["ok"] * len(ways)


def test_methods_are_as_they_were_once_no_hook_has_a_window() -> None:
    before = Below.__dict__["_stream"]
    hooks = Hooks()
    with recorder(hooks):
        assert Below.__dict__["_stream"] is before
        hooks.add(masking := Masking())
        assert Below.__dict__["_stream"] is not before
        hooks.remove(masking)
        assert Below.__dict__["_stream"] is before


@pytest.mark.parametrize("wanted", [True, False])
def test_callbacks_are_told_as_text_goes_out(wanted: bool) -> None:
    masking = Masking()
    masking.when = lambda op: wanted
    heard = Listener()
    model = Delegating(said=("one ", "two ", "three ") * 4)
    with recorder(Hooks(masking)):
        told = [len(heard.told) for _ in model.stream("hi", config={"callbacks": [heard]})]
    assert told == sorted(set(told)), "each chunk is told before it is handed on"


class Refusing(Masking):
    def text(self, op: Operation, text: str) -> str:
        if CARD.search(text):
            raise Reject("a card number", status_code=422)
        return text


@pytest.mark.parametrize("ask", OPENAI, ids=lambda ask: ask.__name__)
def test_a_refusal_is_raised_where_the_stream_is_read(ask: Any, openai_server: OpenAIServer) -> None:
    client = OpenAI(base_url=openai_server.url, api_key="test", max_retries=2)
    openai_server.script(Reply(text=TEXT))
    asked = len(openai_server.requests)
    with recorder(Hooks(Refusing())) as seen, pytest.raises(Reject, match="a card number"):
        ask(client)
    assert len(openai_server.requests) == asked + 1
    assert [op.status for op in seen.operations] == ["rejected"]
