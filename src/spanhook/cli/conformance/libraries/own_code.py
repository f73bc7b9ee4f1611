"""The application's own code: every way of making it an operation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import spanhook
from spanhook.cli.conformance.subject import Body, Subject, Ungated, Use

SAID = "hello there friend"
USED: dict[str, Any] = {"input_tokens": 20, "output_tokens": 8}
_TOKENS = 28


class Model:
    """A hand-written model client, and the code around it in an application.

    ``body`` counts the calls that were made.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.name = "gpt-4o-mini"

    def _made(self, messages: Any) -> str:
        self.body.run(messages, _TOKENS)
        return SAID

    # ----------------------------------------------------------------- blocks

    def _block(self) -> Any:
        request = {"messages": [{"role": "user", "content": "hi"}]}
        return spanhook.operation("llm.call", self.name, provider="openai", request=request)

    def _say(self, op: spanhook.OwnOperation) -> str:
        op.record_usage(**USED)
        return self._made(op.request.messages)

    async def _asay(self, op: spanhook.OwnOperation) -> str:
        await asyncio.sleep(0)
        return self._say(op)

    def result_of(self) -> str:
        with self._block() as op:
            return op.result_of(self._say(op))

    async def aresult_of(self) -> str:
        async with self._block() as op:
            return await op.aresult_of(await self._asay(op))

    async def mixed(self) -> str:
        async with self._block() as op:
            return op.result_of(self._say(op))

    def call(self) -> str:
        with self._block() as op:
            return op.call(self._say, op)

    async def acall(self) -> str:
        async with self._block() as op:
            return await op.acall(self._asay, op)

    def _words(self, op: spanhook.OwnOperation) -> Iterator[str]:
        yield from self._say(op).split(" ")

    async def _awords(self, op: spanhook.OwnOperation) -> AsyncIterator[str]:
        for word in (await self._asay(op)).split(" "):
            yield word

    def stream(self) -> list[str]:
        with self._block() as op:
            return list(op.stream(lambda: self._words(op)))

    async def astream(self) -> list[str]:
        async with self._block() as op:
            return [word async for word in op.stream(lambda: self._awords(op))]

    def handed_out(self) -> Iterator[str]:
        with self._block() as op:
            return op.stream(lambda: self._words(op))

    # ----------------------------------------------------------------- decorated

    @spanhook.operation("llm.call", "gpt-4o-mini", provider="openai")
    def complete(self, messages: list[Any]) -> str:
        spanhook.record_usage(**USED)
        return self._made(messages)

    @spanhook.operation("llm.call", "gpt-4o-mini", provider="openai")
    async def acomplete(self, messages: list[Any]) -> str:
        spanhook.record_usage(**USED)
        return self._made(messages)

    @spanhook.operation("llm.call", "gpt-4o-mini", provider="openai")
    def words(self, messages: list[Any]) -> Iterator[str]:
        spanhook.record_usage(**USED)
        yield from self._made(messages).split(" ")

    @spanhook.operation("llm.call", "gpt-4o-mini", provider="openai")
    async def awords(self, messages: list[Any]) -> AsyncIterator[str]:
        spanhook.record_usage(**USED)
        for word in self._made(messages).split(" "):
            yield word


class Bare(Model):
    """The same with blocks that do not pass on their result."""

    def bare(self) -> str:
        with self._block() as op:
            return self._say(op)

    async def abare(self) -> str:
        async with self._block() as op:
            return await self._asay(op)


async def _collect(stream: AsyncIterator[Any]) -> list[Any]:
    return [one async for one in stream]


_HI = [{"role": "user", "content": "hi"}]
MODEL_WAYS: dict[str, Use] = {
    "with, result_of": lambda model: model.result_of(),
    "async with, aresult_of": lambda model: model.aresult_of(),
    "async with, result_of": lambda model: model.mixed(),
    "call": lambda model: model.call(),
    "acall": lambda model: model.acall(),
    "stream of a block": lambda model: model.stream(),
    "async stream of a block": lambda model: model.astream(),
    "stream handed out": lambda model: list(model.handed_out()),
    "function": lambda model: model.complete(_HI),
    "coroutine function": lambda model: model.acomplete(_HI),
    "generator": lambda model: list(model.words(_HI)),
    "async generator": lambda model: _collect(model.awords(_HI)),
}
BLOCKS = ("with, result_of", "async with, aresult_of", "async with, result_of")
OPENED: dict[str, Use] = {
    "stream handed out": lambda model: model.handed_out(),
    "generator": lambda model: model.words(_HI),
    "async generator": lambda model: model.awords(_HI),
}
BARE_WAYS: dict[str, Use] = {
    "with": lambda model: model.bare(),
    "async with": lambda model: model.abare(),
}
MODEL_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "function": lambda model: _later(model.complete),
    "coroutine function": lambda model: _later(model.acomplete),
}


def _later(call: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: call(_HI)


class Tools:
    """Functions that an agent's own loop calls."""

    def __init__(self, body: Body) -> None:
        @spanhook.tool
        def look_up(query: str) -> str:
            """Look something up."""
            body.run(query)
            return f"found {query}"

        @spanhook.tool
        async def alook_up(query: str) -> str:
            """Look something up."""
            body.run(query)
            return f"found {query}"

        async def block(query: str) -> str:
            async with spanhook.operation("tool.execute", "look_up", request={"arguments": {"query": query}}) as op:
                return await op.acall(_looked_up, body, op.request.arguments["query"])

        @spanhook.agent
        def loop(question: str) -> str:
            return look_up(question)

        self.look_up, self.alook_up, self.block, self.loop = look_up, alook_up, block, loop


async def _looked_up(body: Body, query: str) -> str:
    body.run(query)
    return f"found {query}"


TOOL_WAYS: dict[str, Callable[[Any], Any | Awaitable[Any]]] = {
    "function": lambda tools: tools.look_up("x"),
    "coroutine function": lambda tools: tools.alook_up(query="x"),
    "acall": lambda tools: tools.block("x"),
    "in an agent": lambda tools: tools.loop("x"),
}


class Agents:
    """Agents written as the application's own loops."""

    def __init__(self, body: Body) -> None:
        @spanhook.agent("helper")
        def ask(question: str) -> str:
            body.run(question)
            return SAID

        @spanhook.agent("helper")
        async def aask(question: str) -> str:
            body.run(question)
            return SAID

        def block(question: str) -> str:
            with spanhook.operation("agent.invoke", "helper", request={"inputs": question}) as op:
                body.run(op.request.inputs)
                return SAID

        self.ask, self.aask, self.block = ask, aask, block


AGENT_WAYS: dict[str, Use] = {
    "function": lambda agents: agents.ask("x"),
    "coroutine function": lambda agents: agents.aask("x"),
    "with": lambda agents: agents.block("x"),
}

SUBJECTS: tuple[Subject, ...] = (
    Subject("own model", "llm.call", Model, MODEL_WAYS, MODEL_BIND, said=SAID, blocks=BLOCKS, opened=OPENED),
    Subject("own model, bare", "llm.call", Bare, BARE_WAYS, {}),
    Subject(
        "own tool",
        "tool.execute",
        Tools,
        TOOL_WAYS,
        {"function": lambda tools: lambda: tools.look_up("x")},
        said="found",
    ),
    Subject("own agent", "agent.invoke", Agents, AGENT_WAYS, {}),
)

UNGATED: tuple[Ungated, ...] = ()
