"""DSPy's programs: its cache, its adapters' fallbacks, its agents, and one count for all layers."""

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from dspy.clients.cache import Cache  # pyright: ignore[reportMissingImports]

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.dspy import dspy
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.overriding import REFUSED, refusing_milk


@pytest.fixture
def body() -> Body:
    return Body()


@pytest.fixture
def lm(body: Body) -> Iterator[Any]:
    with OpenAIServer() as server:
        url = server.url_for(Line(body, lambda _seen: Tokens().total))
        yield dspy.LM("openai/gpt-4o-mini", api_base=url, api_key="test", num_retries=0)


def refuse(_op: Operation) -> None:
    raise Reject("Not today")


def test_an_answer_from_the_cache_is_gated_and_counts_no_tokens(lm: Any, body: Body, hooks: Hooks) -> None:
    used: list[int] = []
    hooks.after("llm.call")(lambda op: used.append(op.usage.input_tokens))
    spanhook.instrument(hooks)
    first = lm("Is this cached?")
    assert lm("Is this cached?") == first
    assert body.runs == 1
    assert used == [Tokens().input, 0]
    spanhook.uninstrument()

    refusing = Hooks()
    refusing.before("llm.call")(refuse)
    spanhook.instrument(refusing)
    with pytest.raises(Reject, match="Not today"):
        lm("Is this cached?")
    assert body.runs == 1


@pytest.mark.parametrize("is_async", [False, True], ids=["called", "acalled"])
@pytest.mark.parametrize("does", ["replaces", "refuses", "looks"])
def test_what_a_hook_replaces_or_refuses_is_not_kept_in_the_cache(
    lm: Any, body: Body, hooks: Hooks, monkeypatch: pytest.MonkeyPatch, does: str, is_async: bool
) -> None:
    monkeypatch.setattr(dspy, "cache", Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=""))

    @hooks.after("llm.call")
    def decide(op: Operation) -> None:
        if does == "refuses":
            raise Reject("Not this")
        if does == "replaces":
            op.respond("[hidden]")

    spanhook.instrument(hooks)
    for _ in range(2):
        with pytest.raises(Reject) if does == "refuses" else nullcontext():
            asyncio.run(lm.acall("Is this kept?")) if is_async else lm("Is this kept?")
    assert (len(dspy.cache.memory_cache), body.runs) == ((1, 1) if does == "looks" else (0, 2))


def test_a_refused_call_is_not_tried_again_by_another_adapter(lm: Any, body: Body, hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("llm.call")
    def count(op: Operation) -> None:
        asked.append(op.name)
        raise Reject("Not today")

    spanhook.instrument(hooks)
    with dspy.context(lm=lm), pytest.raises(Reject, match="Not today"):
        dspy.ChainOfThought("question -> answer")(question="Why?")
    assert len(asked) == 1
    assert body.runs == 0


def test_the_outermost_module_is_the_run_and_a_call_is_counted_once(lm: Any, body: Body, hooks: Hooks) -> None:
    began: list[tuple[str, str]] = []
    totals: list[int] = []
    for kind in ("agent.invoke", "llm.call"):
        hooks.before(kind)(lambda op: began.append((op.kind, op.name)))
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens))
    spanhook.instrument(hooks)

    class Twice(dspy.Module):
        def forward(self) -> Any:
            lm(messages=[{"role": "user", "content": "One?"}], cache=False)
            lm(messages=[{"role": "user", "content": "Two?"}], cache=False)
            return dspy.Prediction(answer="both")

    class Outer(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Twice()

        def forward(self) -> Any:
            return self.inner()

    assert Outer()().answer == "both"
    assert body.runs == 2
    assert began == [("agent.invoke", "Outer"), ("llm.call", "gpt-4o-mini"), ("llm.call", "gpt-4o-mini")]
    assert totals == [2 * Tokens().input]


class Scripted(dspy.BaseLM):
    """A model of the application's own that calls a tool and then ends."""

    def __init__(self) -> None:
        super().__init__("own")
        self.calls = 0

    def __call__(self, prompt: Any = None, messages: Any = None, **_given: Any) -> Any:
        self.calls += 1
        if self.calls > 2:
            return ["[[ ## reasoning ## ]]\nDone.\n\n[[ ## answer ## ]]\n3\n\n[[ ## completed ## ]]"]
        name, given = ("add", '{"a": 1, "b": 2}') if self.calls == 1 else ("finish", "{}")
        fields = {"next_thought": "x", "next_tool_name": name, "next_tool_args": given}
        return ["".join(f"[[ ## {field} ## ]]\n{value}\n\n" for field, value in fields.items())]


def test_an_agent_tells_the_model_of_a_refused_tool(hooks: Hooks) -> None:
    ran: list[int] = []

    def add(a: int, b: int) -> int:
        ran.append(a + b)
        return a + b

    hooks.before("tool.execute", names={"add"})(refuse)
    spanhook.instrument(hooks)
    with dspy.context(lm=Scripted()):
        result = dspy.ReAct("question -> answer", tools=[add])(question="1 + 2?")
    assert result.answer == "3"
    assert not ran
    assert "Not today" in result.trajectory["observation_0"]


def test_what_an_override_has_edited_in_place_is_asked_about_again(lm: Any, body: Body, hooks: Hooks) -> None:
    seen: list[Any] = []

    class Editing(dspy.LM):
        def __call__(self, prompt: Any = None, *, messages: Any = None, **given: Any) -> Any:
            messages[-1]["content"] = "Give me the keys."
            return super().__call__(prompt, messages=messages, **given)

    @hooks.before("llm.call")
    def refuse_keys(op: Operation) -> None:
        seen.append(op.request.messages[-1]["parts"][0]["content"])
        if "keys" in seen[-1]:
            raise Reject("Not today")

    spanhook.instrument(hooks)
    made = Editing(lm.model, **lm.kwargs)
    with pytest.raises(Reject, match="Not today"):
        made(messages=[{"role": "user", "content": "Why?"}], cache=False)
    assert (seen, body.runs) == (["Why?", "Give me the keys."], 0)


def test_an_override_that_asks_something_else_is_gated_for_that_too(lm: Any, body: Body, hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        asked.append(op.request.messages[-1]["parts"][0]["content"])
        if "Delete" in asked[-1]:
            raise Reject("Not today")

    class Reflecting(dspy.LM):
        def __call__(self, prompt: Any = None, **given: Any) -> Any:
            super().__call__(prompt, **given)
            return super().__call__(f"Delete {prompt}", **given)

    spanhook.instrument(hooks)
    reflecting = Reflecting(lm.model, **lm.kwargs, cache=False, num_retries=0)
    with pytest.raises(Reject, match="Not today"):
        reflecting("this?")
    assert asked == ["this?", "Delete this?"]
    assert body.runs == 1


def test_what_a_program_is_given_by_position_is_seen_and_rewritten(hooks: Hooks) -> None:
    class Echo(dspy.Module):
        def forward(self, question: str, times: int = 1) -> Any:
            return dspy.Prediction(answer=question * times)

    seen: list[Any] = []

    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        seen.append(op.request.inputs)
        op.replace(inputs={**op.request.inputs, "question": "no"})

    spanhook.instrument(hooks)
    assert Echo()("yes", times=2).answer == "nono"
    assert seen == [{"question": "yes", "times": 2}]


@pytest.mark.parametrize("react", [False, True])
def test_an_override_of_a_program_that_asks_for_something_else_is_asked_about_again(react: bool) -> None:
    ran, kind = list[Any](), dspy.ReAct if react else dspy.Module

    class Editing(kind):
        def __call__(self, **given: Any) -> Any:
            return super().__call__(**{**given, "question": "milk"})

        def forward(self, **given: Any) -> Any:
            ran.append(given)

    hooks, asked = refusing_milk("agent.invoke")
    with recorder(hooks), pytest.raises(Reject, match=REFUSED):
        made = Editing("question -> answer", tools=[]) if react else Editing()
        made(question="tea")
    assert (asked, ran) == ([False, True], [])
