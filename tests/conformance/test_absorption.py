"""A call is absorbed into the operation around it if it is that one's transport, and never otherwise.

Every row counts requests at the server: what reached it was gated as it went out, and is counted once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langchain_openai import OpenAI as TextOpenAI
from openai import APIError, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI
from pydantic import BaseModel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.libraries.openai_ways import sync_client
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

HUNDRED = Tokens(input=100, output=50)
TINY = Tokens(input=10, output=5)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Reply(tokens=HUNDRED)) as running:
        yield running


@contextmanager
def made(server: OpenAIServer, kind: Any = ChatOpenAI, **options: Any) -> Generator[Any]:
    """A model of LangChain's over OpenAI's client."""
    with DefaultHttpxClient(verify=False) as http:
        name = "text-embedding-3-small" if issubclass(kind, Embeddings) else "gpt-4o-mini"
        given = {"model": name, "base_url": server.url, "api_key": "test", "max_retries": 0, "http_client": http}
        yield kind(**{**given, **options})


def total(seen: Recorder) -> int:
    return sum(value for _, value in seen.metrics().get("spanhook.usage.tokens", ()))


def layers(seen: Recorder) -> list[str]:
    """Whose view each operation is, in the order in which they ended."""
    return [op._record.adapter.layer.partition(".")[0] for op in seen.operations]


def recording() -> tuple[Hooks, list[str]]:
    """Hooks that keep the last text of every request they are asked about, and those."""
    hooks, asked = Hooks(), list[str]()

    @hooks.before("llm.call", "embeddings.create")
    def keep(op: Operation) -> None:
        said = [part for message in op.request.messages[-1:] for part in message["parts"]]
        asked.append("".join(str(part.get("content", part.get("response", ""))) for part in said))

    return hooks, asked


def sent(server: OpenAIServer) -> list[str]:
    """The last text of every request that came in."""
    return [one.body["messages"][-1]["content"] for one in server.requests]


# ------------------------------------------------------------------------------------------ what is one operation

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CALLED: list[BaseMessage] = [
    HumanMessage("What is the weather?"),
    AIMessage("", tool_calls=[{"id": "call_1", "name": "weather", "args": {"city": "Oslo"}}]),
]
PROMPTS: dict[str, list[BaseMessage]] = {
    "text": [HumanMessage("hi")],
    "nothing": [HumanMessage("")],
    "parts": [HumanMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
    "image": [SystemMessage("Look."), HumanMessage([IMAGE])],
    "image and text": [HumanMessage([{"type": "text", "text": "Look."}, IMAGE])],
    "tool result": [*CALLED, ToolMessage("rain", tool_call_id="call_1")],
    "tool result in parts": [*CALLED, ToolMessage([{"type": "text", "text": "rain"}], tool_call_id="call_1")],
    "empty tool result": [*CALLED, ToolMessage("", tool_call_id="call_1")],
    "said by the model": [HumanMessage("hi"), AIMessage("hello, ")],
    "a call last": CALLED,
    "system last": [HumanMessage("hi"), SystemMessage("Be brief.")],
    "twice the same": [HumanMessage("hi"), AIMessage("hi"), HumanMessage("hi")],
}
APIS: dict[str, dict[str, Any]] = {
    "chat": {},
    "responses": {"use_responses_api": True},
    "responses v1": {"use_responses_api": True, "output_version": "responses/v1"},
}


def _weather(city: str) -> str:
    """The weather in a city."""
    return city


class Parsed(BaseModel):
    """What structured output is parsed into."""

    hello: str


@pytest.mark.every_combination
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_conversion_of_a_request_is_known_again(prompt: str, api: str, server: OpenAIServer) -> None:
    with recorder() as seen, made(server, **APIS[api]) as model:
        model.invoke(PROMPTS[prompt])
        list(model.stream(PROMPTS[prompt]))
    assert layers(seen) == ["langchain"] * 2
    assert len(server.requests) == 2


def test_a_response_that_goes_on_from_the_last_one(server: OpenAIServer) -> None:
    with recorder() as seen, made(server, use_responses_api=True, use_previous_response_id=True) as model:
        first = model.invoke("hi")
        model.invoke([HumanMessage("hi"), first, HumanMessage("and now?")])
    assert "previous_response_id" in server.requests[1].body
    assert layers(seen) == ["langchain"] * 2


WAYS: dict[str, Callable[[Any], Any]] = {
    "tools": lambda model: model.bind_tools([_weather]).invoke("hi"),
    "json": lambda model: model.with_structured_output(Parsed, method="json_mode").invoke("hi"),
    "schema": lambda model: model.with_structured_output(Parsed).invoke("hi"),
    "batch": lambda model: model.batch(["a", "b", "a"]),
    "several prompts": lambda model: model.generate([[HumanMessage("a")], [HumanMessage("b")], [HumanMessage("a")]]),
    "fallbacks": lambda model: model.with_fallbacks([model]).invoke("hi"),
    "v3": lambda model: list(model.stream_events("hi", version="v3")) if hasattr(model, "stream_events") else None,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_asking(way: str, server: OpenAIServer) -> None:
    server.reply = Reply(text='{"hello": "you"}', tokens=HUNDRED)
    with recorder() as seen, made(server) as model:
        WAYS[way](model)
    assert set(layers(seen)) <= {"langchain"}
    assert len(seen.operations) == (1 if way == "several prompts" else len(server.requests))


def test_several_prompts_at_once(server: OpenAIServer) -> None:
    async def main() -> None:
        async with DefaultAsyncHttpxClient(verify=False) as http:
            model = ChatOpenAI(model="gpt-4o-mini", base_url=server.url, api_key="test", http_async_client=http)  # pyright: ignore[reportArgumentType]
            await model.agenerate([[HumanMessage(text)] for text in ("a", "b", "a")])

    with recorder() as seen:
        run(main())
        assert total(seen) == 450
    assert layers(seen) == ["langchain"]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("openai/gpt-4o", "gpt-4o"),
        ("gpt-4o", "openai/gpt-4o"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("GPT-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("claude-sonnet-4", "claude-sonnet-4@20250514"),
        ("mistral-large-latest", "mistral-large-2411"),
        ("gpt-4", "gpt-4-0613"),
    ],
)
def test_names_of_one_model(name: str, asked: str, server: OpenAIServer) -> None:
    class Renaming(ChatOpenAI):
        def _get_request_payload(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {**super()._get_request_payload(*args, **kwargs), "model": asked}

    with recorder() as seen, made(server, Renaming, model=name) as model:
        model.invoke("hi")
    assert [(op.model, op.usage.total_tokens) for op in seen.operations] == [(name, 150)]


def test_what_hooks_made_of_the_request_is_known_again(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "something else"}]}])

    with recorder(hooks) as seen, made(server) as model:
        model.invoke("hi")
        list(model.stream("hi"))
    assert sent(server) == ["something else"] * 2
    assert layers(seen) == ["langchain"] * 2


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_retry_after_a_failed_call_belongs_to_the_same_attempt(is_streamed: bool, server: OpenAIServer) -> None:
    class Trying(ChatOpenAI):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            try:
                return super()._generate(*args, **kwargs)
            except APIError:
                return super()._generate(*args, **kwargs)

        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            try:
                yield from list(super()._stream(*args, **kwargs))
            except Exception:
                yield from super()._stream(*args, **kwargs)

    server.script(Reply(cut=2) if is_streamed else Reply(status=500))
    with recorder() as seen, made(server, Trying) as model:
        list(model.stream("hi")) if is_streamed else model.invoke("hi")
    assert len(server.requests) == 2
    assert [(op.status, op._record.adapter.layer.partition(".")[0]) for op in seen.operations] == [
        ("success", "langchain")
    ]


@pytest.mark.parametrize("way", ["query", "documents"])
@pytest.mark.parametrize("is_async", [False, True])
def test_embeddings_in_several_requests(way: str, is_async: bool, server: OpenAIServer) -> None:
    class Tokens(OpenAIEmbeddings):
        """Sends tokens, as it does unless told otherwise, without asking anybody for the vocabulary."""

        def embed_documents(self, texts: list[str], *_args: Any, **_kwargs: Any) -> list[list[float]]:
            return [self.client.create(input=[[1, 2, 3]], model=self.model).data[0].embedding for _ in texts]

    async def main(model: Any) -> None:
        await (model.aembed_query("a") if way == "query" else model.aembed_documents(["a", "b", "a"]))

    plain = {"check_embedding_ctx_length": False, "chunk_size": 1}
    count = 0
    for kind, options in ((OpenAIEmbeddings, plain), (Tokens, {})):
        with recorder() as seen, made(server, kind, **options) as model:
            if is_async:
                model = type("Default", (kind,), {name: getattr(Embeddings, name) for name in ASYNC})(**vars(model))
                run(main(model))
            else:
                model.embed_query("a") if way == "query" else model.embed_documents(["a", "b", "a"])
            requests, count = len(server.requests) - count, len(server.requests)
            if kind is OpenAIEmbeddings or way == "documents":
                assert total(seen) == requests * 100
        assert layers(seen) == ["langchain"]


ASYNC = ("aembed_query", "aembed_documents")


@pytest.mark.parametrize("kind", ["chat", "text", "embeddings", "aembeddings"])
def test_what_hooks_call_is_counted_once_too(kind: str, server: OpenAIServer) -> None:
    hooks = Hooks()

    class Plain(OpenAIEmbeddings):
        async def aembed_query(self, text: str, **_kwargs: Any) -> list[float]:
            return await Embeddings.aembed_query(self, text)

    with (
        made(server) as chat,
        made(server, TextOpenAI, model="gpt-3.5-turbo-instruct") as text,
        made(server, Plain, check_embedding_ctx_length=False) as embeddings,
    ):

        @hooks.before("tool.execute", timeout=60.0)
        async def judge(op: Operation) -> None:
            if kind == "chat":
                await asyncio.to_thread(chat.invoke, "is it fine?")
            elif kind == "text":
                await asyncio.to_thread(text.invoke, "is it fine?")
            elif kind == "embeddings":
                await asyncio.to_thread(embeddings.embed_query, "is it fine?")
            else:
                await embeddings.aembed_query("is it fine?")

        from langchain_core.tools import tool

        @tool
        def act(what: str) -> str:
            """Act."""
            return what

        with recorder(hooks) as seen:
            act.invoke({"what": "x"})
            assert total(seen) == (100 if "embeddings" in kind else 150)
    assert [(op.kind, op.in_hook) for op in seen.operations] == [
        ("embeddings.create" if "embeddings" in kind else "llm.call", True),
        ("tool.execute", False),
    ]


# ------------------------------------------------------------------------------------------ what is one of its own


class Asking(BaseCallbackHandler):
    """Asks OpenAI itself whatever the model was asked, whenever it is called."""

    def __init__(self, client: OpenAI, event: str, text: str) -> None:
        def ask(*_args: Any, **_kwargs: Any) -> None:
            if not self.asked:
                self.asked = True
                client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": text}])

        self.asked = False
        setattr(self, event, ask)


class AsyncAsking(AsyncCallbackHandler):
    """The same for async models, inline and not."""

    def __init__(self, client: OpenAI, event: str, text: str, *, inline: bool = False) -> None:
        async def ask(*_args: Any, **_kwargs: Any) -> None:
            if not self.asked:
                self.asked = True
                client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": text}])

        self.asked, self.run_inline = False, inline
        setattr(self, event, ask)


@pytest.mark.parametrize("text", ["hi", "something else"])
@pytest.mark.parametrize("event", ["on_chat_model_start", "on_llm_new_token", "on_llm_end"])
@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream", "ainvoke inline", "astream inline"])
def test_what_callbacks_call(way: str, event: str, text: str, server: OpenAIServer) -> None:
    hooks, asked = recording()
    streams = "stream" in way
    with recorder(hooks) as seen, sync_client(server.url) as client, made(server) as model:
        if way.startswith("a"):
            handler = AsyncAsking(client, event, text, inline="inline" in way)

            async def main() -> None:
                async with DefaultAsyncHttpxClient(verify=False) as http:
                    mine = ChatOpenAI(
                        model="gpt-4o-mini",
                        base_url=server.url,
                        api_key="test",  # pyright: ignore[reportArgumentType]
                        http_async_client=http,
                    )
                    config: Any = {"callbacks": [handler]}
                    if streams:
                        _ = [chunk async for chunk in mine.astream("hi", config)]
                    else:
                        await mine.ainvoke("hi", config)

            run(main())
        else:
            config: Any = {"callbacks": [Asking(client, event, text)]}
            list(model.stream("hi", config)) if streams else model.invoke("hi", config)
    called = event != "on_llm_new_token" or streams
    assert sorted(asked) == sorted(["hi", text] if called else ["hi"])
    assert sorted(asked) == sorted(sent(server))
    assert sorted(layers(seen)) == (["langchain", "openai"] if called else ["langchain"])
    assert seen.operations[-1].usage.llm_calls == 1 + called


def test_a_stream_whose_callback_calls_the_same_model(server: OpenAIServer) -> None:
    hooks, asked = recording()

    class Again(BaseCallbackHandler):
        def on_llm_new_token(self, token: Any, **_kwargs: Any) -> None:
            if len(server.requests) == 1:
                model.invoke("hi")

    with recorder(hooks) as seen, made(server) as model:
        list(model.stream("hi", {"callbacks": [Again()]}))
    assert asked == sent(server) == ["hi", "hi"]
    assert layers(seen) == ["langchain"] * 2


class Twice(ChatOpenAI):
    """Asks twice to answer once: first another question, or the same."""

    first: str = "a draft, please"
    last: bool = False

    def _ask(self, *args: Any, **kwargs: Any) -> None:
        self.client.create(model=self.model_name, messages=[{"role": "user", "content": self.first}])

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        if not self.last:
            self._ask()
        result = super()._generate(*args, **kwargs)
        if self.last:
            self._ask()
        return result


@pytest.mark.parametrize("first", ["a draft, please", "hi"])
@pytest.mark.parametrize("last", [False, True])
def test_the_second_call_of_one_generate(first: str, last: bool, server: OpenAIServer) -> None:
    hooks, asked = recording()
    with recorder(hooks) as seen, made(server, Twice, first=first, last=last) as model:
        model.invoke("hi")
        assert total(seen) == 300
    assert sorted(asked) == sorted(sent(server)) == sorted([first, "hi"])
    assert layers(seen) == ["openai", "langchain"]
    assert seen.operations[-1].usage.llm_calls == 2


def test_a_denied_second_call_is_not_made(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        if "draft" in str(op.request.messages):
            raise Reject("no drafts")

    with recorder(hooks) as seen, made(server, Twice) as model, pytest.raises(Reject):
        model.invoke("hi")
    assert server.requests == []
    assert [op.status for op in seen.operations] == ["rejected", "rejected"]


def test_a_request_that_the_model_changes_is_gated_as_it_goes_out(server: OpenAIServer) -> None:
    class Adding(ChatOpenAI):
        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
            return super()._generate([*messages, HumanMessage("and be brief")], *args, **kwargs)

    hooks, asked = recording()
    with recorder(hooks) as seen, made(server, Adding) as model:
        model.invoke("hi")
        assert total(seen) == 150
    assert asked == ["hi", "and be brief"]
    assert seen.operations[-1].usage.llm_calls == 1


ANOTHER = {
    "id": "chatcmpl-2",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-mini",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "more"}, "finish_reason": "stop"}],
    "usage": HUNDRED.chat(),
}


@pytest.mark.parametrize("rewritten", [False, True])
def test_what_callbacks_change_in_place_is_gated_as_it_goes_out(rewritten: bool, server: OpenAIServer) -> None:
    class Adding(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **_kwargs: Any) -> None:
            messages[0][-1].content += ", and a secret"

    hooks, asked = recording()

    @hooks.before("llm.call", priority=10)
    def rewrite(op: Operation) -> None:
        if rewritten and op.request.messages[-1]["parts"][0]["content"] == "hi":
            op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "ho"}]}])

    with recorder(hooks) as seen, made(server) as model:
        model.invoke("hi", {"callbacks": [Adding()]})
        assert total(seen) == 150
    assert asked[-1] == sent(server)[0] == ("ho" if rewritten else "hi") + ", and a secret"


class Overriding(OpenAI):
    """A client of one's own, which asks something else as well, or not."""

    more: bool = False

    def request(self, cast_to: Any, options: Any, **kwargs: Any) -> Any:
        if self.more:
            body = {**options.json_data, "messages": [{"role": "user", "content": "more"}]}
            super().request(cast_to, options.model_copy(update={"json_data": body}), **kwargs)
        return super().request(cast_to, options, **kwargs)


@pytest.mark.every_value
@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("under", ["a model", "nothing"])
def test_a_client_that_overrides_the_transport(under: str, more: bool, server: OpenAIServer) -> None:
    hooks, asked = recording()
    with recorder(hooks) as seen, DefaultHttpxClient(verify=False) as http:
        client = Overriding(base_url=server.url, api_key="test", http_client=http)
        client.more = more
        if more:
            server.script(Reply(body=ANOTHER))
        if under == "a model":
            ChatOpenAI(model="gpt-4o-mini", client=client.chat.completions, api_key="test").invoke("hi")  # pyright: ignore[reportArgumentType]
        else:
            client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "hi"}])
        assert total(seen) == 150 * len(server.requests)
    assert sorted(asked) == sorted(sent(server)) == (["hi", "more"] if more else ["hi"])
    assert len(seen.operations) == len(server.requests)


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream"])
def test_a_model_that_overrides_what_is_wrapped_and_asks_twice(way: str) -> None:
    class Drafting(ScriptedChat):
        def generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            super().generate([[HumanMessage("a draft, please")]])
            return super().generate(messages, *args, **kwargs)

        async def agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            await super().agenerate([[HumanMessage("a draft, please")]])
            return await super().agenerate(messages, *args, **kwargs)

        def stream(self, input: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
            list(super().stream("a draft, please"))
            yield from super().stream(input, *args, **kwargs)

    hooks, asked = recording()
    model = Drafting(body=Body())
    with recorder(hooks):
        if way == "stream":
            list(model.stream("hi"))
        else:
            model.invoke("hi") if way == "invoke" else run(model.ainvoke("hi"))
    assert asked == ["hi", "a draft, please"]


# ------------------------------------------------------------------------------------------ what models inside use


class Guarded(ChatOpenAI):
    """Asks another model of the same name before it answers."""

    guard: Any = None

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.guard.invoke([HumanMessage("is this fine?")])
        return super()._generate(messages, *args, **kwargs)

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.guard.invoke([HumanMessage("is this fine?")])
        yield from super()._stream(messages, *args, **kwargs)


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("tokens", [TINY, HUNDRED])
def test_a_guard_inside_of_a_model(tokens: Tokens, is_streamed: bool, server: OpenAIServer) -> None:
    server.script(Reply(tokens=tokens), Reply(tokens=HUNDRED, usage="always"))
    with recorder() as seen, made(server) as guard, made(server, Guarded, guard=guard) as model:
        list(model.stream("hi")) if is_streamed else model.invoke("hi")
        assert total(seen) == tokens.input + tokens.output + 150
    outer = seen.operations[-1]
    assert (outer.usage.llm_calls, outer.usage.total_tokens) == (2, tokens.input + tokens.output + 150)
    assert (seen.spans[-1].attributes or {})["gen_ai.usage.input_tokens"] == 100


class Composed(BaseChatModel):
    """A model without a client of its own that asks others and reports what it likes."""

    inner: Any
    calls: int = 1
    reports: str = "theirs"

    @property
    def _llm_type(self) -> str:
        return "composed"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        answers = [self.inner.invoke([HumanMessage(f"part {number}")]) for number in range(self.calls)]
        used: Any = answers[-1].usage_metadata
        message = answers[-1]
        if self.reports == "sum":
            used = {name: sum(one.usage_metadata[name] for one in answers) for name in NAMES}
            message = AIMessage("done", usage_metadata=used)
        elif self.reports == "own":
            message = AIMessage("done", usage_metadata={"input_tokens": 7, "output_tokens": 3, "total_tokens": 10})
        elif self.reports == "nothing":
            message = AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=message)])


class Passing(Composed):
    """The same in a stream."""

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        chunks = list[AIMessageChunk]()
        for number in range(self.calls):
            chunks = list(self.inner.stream([HumanMessage(f"part {number}")], stream_usage=True))
        for chunk in chunks:
            yield ChatGenerationChunk(message=chunk)


NAMES = ("input_tokens", "output_tokens", "total_tokens")


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke"])
@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("reports", ["theirs", "sum", "own", "nothing"])
def test_a_model_made_of_others(reports: str, calls: int, way: str, server: OpenAIServer) -> None:
    with recorder() as seen, made(server) as inner:
        model = Composed(inner=inner, calls=calls, reports=reports)
        if way == "ainvoke":
            run(model.ainvoke("hi"))
        elif way == "stream":
            list(model.stream("hi"))
        else:
            model.invoke("hi")
        own = 10 if reports == "own" else 0
        assert total(seen) == calls * 150 + own
    outer = seen.operations[-1]
    assert outer.usage.total_tokens == calls * 150 + own
    assert outer.usage.llm_calls == calls + bool(own)


@pytest.mark.parametrize("calls", [1, 2])
def test_a_stream_that_is_handed_on(calls: int, server: OpenAIServer) -> None:
    with recorder() as seen, made(server) as inner:
        list(Passing(inner=inner, calls=calls).stream("hi"))
        assert total(seen) == calls * 150


@pytest.mark.parametrize("depth", [2, 3])
def test_models_in_models(depth: int, server: OpenAIServer) -> None:
    with recorder() as seen, made(server) as inner:
        model: Any = inner
        for _ in range(depth):
            model = Composed(inner=model, reports="sum")
        model.invoke("hi")
        assert total(seen) == 150
    assert [op.usage.llm_calls for op in seen.operations] == [1] * (depth + 1)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_model_that_fails_after_its_transport(is_async: bool, server: OpenAIServer) -> None:
    class Breaking(ChatOpenAI):
        def _create_chat_result(self, *args: Any, **kwargs: Any) -> ChatResult:
            raise ValueError("broken")

    async def main() -> AsyncIterator[Any]:
        async with DefaultAsyncHttpxClient(verify=False) as http:
            model = Breaking(model="gpt-4o-mini", base_url=server.url, api_key="test", http_async_client=http)  # pyright: ignore[reportArgumentType]
            return await model.ainvoke("hi")  # pyright: ignore[reportReturnType]

    with recorder() as seen, made(server, Breaking) as model:
        with pytest.raises(ValueError, match="broken"):
            run(main()) if is_async else model.invoke("hi")
        assert total(seen) == 150
