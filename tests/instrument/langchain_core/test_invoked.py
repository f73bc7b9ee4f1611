"""Subclasses with an ``invoke`` of their own: gated whatever it does, and one operation with the method it goes on in."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.llms import BaseLLM
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import BaseTool, StructuredTool

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.hearing import listening
from spanhook.cli.conformance.libraries.langchain_core import USAGE, ScriptedChat, ScriptedText, SilentChat
from spanhook.cli.conformance.subject import Body, settle
from spanhook.testing import recorder


class StraightChat(ScriptedChat):
    """Goes to its own body."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return self._generate(self._convert_input(input).to_messages()).generations[0].message

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return self.invoke(input, config)


class PolishedChat(ScriptedChat):
    """Goes on as LangChain does, and changes the result."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return super().invoke(input, config, **kwargs).model_copy(update={"name": "polished"})

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return (await super().ainvoke(input, config, **kwargs)).model_copy(update={"name": "polished"})


class Mixin:
    """Beside the family of classes."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        above: Any = super()
        return above.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        above: Any = super()
        return await above.ainvoke(input, config, **kwargs)


class MixedChat(Mixin, SilentChat):
    pass


class StreamingChat(ScriptedChat):
    """Answers with what it streams."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        chunks = list(self.stream(input, config))[:-1]
        return AIMessage("".join(str(one.content) for one in chunks), usage_metadata=chunks[-1].usage_metadata)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return self.invoke(input, config)


class StraightText(ScriptedText):
    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> str:
        return self._generate([str(input)]).generations[0][0].text

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> str:
        return self.invoke(input)


class PolishedText(Mixin, ScriptedText):
    pass


class StraightTool(BaseTool):
    name: str = "look_up"
    description: str = "Look something up."
    body: Any

    def _run(self, query: str) -> str:
        self.body.run(query)
        return f"found {query}"

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return self._run(**input.get("args", input))

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return self.invoke(input, config)


class PolishedTool(Mixin, BaseTool):
    name: str = "look_up"
    description: str = "Look something up."
    body: Any

    def _run(self, query: str) -> str:
        self.body.run(query)
        return f"found {query}"


MODELS: dict[str, Callable[[Body], Any]] = {
    "straight chat": lambda body: StraightChat(body=body),
    "polished chat": lambda body: PolishedChat(body=body),
    "mixed chat": lambda body: MixedChat(body=body),
    "streaming chat": lambda body: StreamingChat(body=body),
    "straight text": lambda body: StraightText(body=body),
    "polished text": lambda body: PolishedText(body=body),
}
TOOLS: dict[str, Callable[[Body], Any]] = {
    "straight tool": lambda body: StraightTool(body=body),
    "polished tool": lambda body: PolishedTool(body=body),
}
ALL = {**MODELS, **TOOLS}
CALL = {"type": "tool_call", "id": "call 1", "name": "look_up", "args": {"query": "x"}}
WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "invoke": lambda thing, given: thing.invoke(given),
    "ainvoke": lambda thing, given: thing.ainvoke(given),
    "batch": lambda thing, given: thing.batch([given]),
    "stream": lambda thing, given: list(thing.stream(given)),
    "bound": lambda thing, given: (thing | (lambda result: result)).invoke(given),
}


def given_to(name: str) -> Any:
    return {"query": "x"} if name in TOOLS else "hi"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ALL)
def test_what_is_refused_is_not_called(name: str, way: str) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute" if name in TOOLS else "llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks), pytest.raises(Reject):
        settle(WAYS[way](ALL[name](body), given_to(name)))
    assert body.runs == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ALL)
def test_it_is_one_operation_with_what_it_goes_on_in(name: str, way: str) -> None:
    expected = settle(WAYS[way](ALL[name](Body()), given_to(name)))
    hooks, body, passed = Hooks(), Body(), list[str]()
    hooks.before("*")(lambda op: passed.append(op.kind))
    with recorder(hooks) as seen:
        result = settle(WAYS[way](ALL[name](body), given_to(name)))
    assert _plain(result) == _plain(expected)
    [op] = seen.operations
    assert passed == [op.kind]
    assert op.usage.llm_calls == int(name in MODELS)
    if "chat" in name:
        assert op.usage.input_tokens == USAGE["input_tokens"]


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(one) for one in result]
    return result.model_dump(exclude={"id"}) if hasattr(result, "model_dump") else result


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("name", ALL)
def test_rewriting_and_replacing(name: str, way: str) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("*")
    def rewrite(op: Operation) -> None:
        if name in TOOLS:
            op.replace(arguments={"query": "planted"})
        else:
            op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "planted"}]}])

    @hooks.after("*", stream="buffer")
    def replace(op: Operation) -> None:
        said = op.response.text
        op.respond("instead of: " + ("found" if said.startswith("found") else "the model" if "hello" in said else said))

    with recorder(hooks) as seen, listening("plain") as heard:
        result = settle(WAYS[way](ALL[name](body), given_to(name)))
    assert "planted" in repr(body.seen)
    assert getattr(result, "content", result) == f"instead of: {'found' if name in TOOLS else 'the model'}"
    assert "hello" not in repr(heard.results)
    assert [one.decision for one in seen.operations[0].decisions] == ["modify", "replace"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ALL)
def test_an_answer_is_announced_as_by_langchains_own(name: str, way: str) -> None:
    hooks, body = Hooks(), Body()
    hooks.before("tool.execute" if name in TOOLS else "llm.call")(lambda op: op.respond("instead"))
    with recorder(hooks) as seen, listening("plain") as heard:
        result = settle(WAYS[way](ALL[name](body), given_to(name)))
    assert "instead" in repr(result)
    assert (body.runs, len(seen.operations)) == (0, 1)
    ((start, *_, end),) = heard.runs.values()
    assert end == start.replace("start", "end").replace("chat_model", "llm")
    assert "instead" in repr(heard.ends)


@pytest.mark.parametrize("name", TOOLS)
def test_a_refused_tool_call_is_told_to_the_model(name: str) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        assert op.request.arguments == {"query": "x"}
        raise Reject("no")

    with recorder(hooks):
        result = TOOLS[name](body).invoke(CALL)
    assert (result.status, result.tool_call_id, body.runs) == ("error", "call 1", 0)


def test_asking_twice_is_two_operations_and_so_is_asking_for_something_else() -> None:
    class Twice(SilentChat):
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            super().invoke(input, config, **kwargs)
            return super().invoke(input, config, **kwargs)

    class Other(SilentChat):
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().invoke(f"{input} and more", config, **kwargs)

    for kind in (Twice, Other):
        hooks, body, asked = Hooks(), Body(), list[Any]()
        hooks.before("llm.call")(lambda op, asked=asked: asked.append(op.request.messages[-1]["parts"][0]["content"]))
        with recorder(hooks):
            kind(body=body).invoke("hi")
        assert asked == (["hi", "hi"] if kind is Twice else ["hi", "hi and more"])


@pytest.mark.parametrize("name", TOOLS)
def test_each_call_of_a_tool_has_its_own_id(name: str) -> None:
    tool = TOOLS[name](Body())
    with recorder() as seen:
        for given in (CALL, {**CALL, "id": "call 2"}, {"query": "x"}):
            tool.invoke(given)
    assert [op.tool_call_id for op in seen.operations] == ["call 1", "call 2", ""]


def test_models_that_differ_in_their_client_ask_servers_of_their_own() -> None:
    class Client:
        def __init__(self, host: str) -> None:
            self._base_url = SimpleNamespace(host=host, port=None, scheme="https")

    class Of(PolishedChat):
        model_name: str = "m"
        temperature: float = 0.5
        client: Any = None

    with recorder() as seen:
        for client in (Client("one.example"), Client("two.example"), None):
            Of(body=Body(), client=client).invoke("hi")
    assert [(span.attributes or {}).get("server.address") for span in seen.spans] == [
        "one.example",
        "two.example",
        None,
    ]


def test_a_stream_of_its_own_is_gated() -> None:
    class Own(ScriptedChat):
        def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Iterator[Any]:
            for chunk in self._stream(self._convert_input(input).to_messages()):
                assert isinstance(chunk, ChatGenerationChunk)
                yield chunk.message

    hooks, body = Hooks(), Body()
    hooks.after("llm.call", stream="buffer")(lambda op: op.respond("instead"))
    with recorder(hooks) as seen:
        assert [one.content for one in Own(body=body).stream("hi")] == ["instead"]
    assert len(seen.operations) == 1


def test_langchains_own_are_left_alone() -> None:
    before = [vars(cls)["invoke"] for cls in (BaseChatModel, BaseLLM, BaseTool)], vars(StructuredTool)["ainvoke"]
    with recorder(Hooks()):
        now = [vars(cls)["invoke"] for cls in (BaseChatModel, BaseLLM, BaseTool)], vars(StructuredTool)["ainvoke"]
    assert now == before
