"""Small agents with two tools and a managed agent, over a scripted model and over HTTP: with spanhook and without."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.smolagents_ways import (
    ASK,
    FOUND,
    CodeAgent,
    Own,
    agent,
    code,
    openai_agent,
    smolagents,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder


class Application:
    """Two tools, and an agent that asks another one, whose model counts too."""

    def __init__(self) -> None:
        self.models, self.threads, self.steps = Body(), list[int](), list[str]()

        @smolagents.tool
        def look_up(query: str) -> str:
            """Look something up.

            Args:
                query: What to look for.
            """
            self.threads.append(threading.get_ident())
            return f"{query}: {FOUND}"

        @smolagents.tool
        def add(first: int, second: int) -> int:
            """Add two numbers.

            Args:
                first: A number.
                second: Another one.
            """
            return first + second

        self.tools = look_up, add
        self.expert = agent(Own(self.models, [("final_answer", {"answer": "it is tea"})]), name="expert")

    def _step(self, step: Any, agent: Any = None) -> None:
        self.steps.append(f"{agent.name}: {type(step).__name__}")

    def calling(self) -> Any:
        """An agent that calls tools, two of them at once."""
        both = [("look_up", {"query": "tea"}), ("add", {"first": 2, "second": 3})]
        turns = both, [("expert", {"task": ASK, "additional_args": {}})], [("final_answer", {"answer": "all done"})]
        model = Own(self.models, *turns)
        return agent(model, *self.tools, managed_agents=[self.expert], step_callbacks=[self._step])

    def coding(self) -> Any:
        """An agent that writes code."""
        turns = (
            "print(look_up('tea'))",
            f"print(expert({ASK!r}))",
            "final_answer(f'all done: {add(first=2, second=3)}')",
        )
        model = Own(self.models, *map(code, turns))
        return agent(model, *self.tools, kind=CodeAgent, managed_agents=[self.expert], step_callbacks=[self._step])


KINDS = pytest.mark.parametrize("kind", ["calling", "coding"])


def made(kind: str) -> tuple[Application, Any]:
    application = Application()
    return application, getattr(application, kind)()


def memory(helper: Any) -> list[Any]:
    """What an agent remembers, but for times."""
    return [
        (
            type(step).__name__,
            getattr(step, "observations", None),
            getattr(step, "action_output", None),
            repr(getattr(step, "error", None)),
            str(getattr(step, "token_usage", None)),
        )
        for step in helper.memory.steps
    ]


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans]


def statuses(seen: Recorder) -> dict[str, str]:
    return {span.name: str((span.attributes or {})["spanhook.status"]) for span in seen.spans}


@KINDS
@pytest.mark.parametrize("streams", [False, True])
def test_what_comes_of_it_is_the_same_as_without(kind: str, streams: bool) -> None:
    def run() -> list[Any]:
        application, helper = made(kind)
        result = helper.run(ASK, stream=streams)
        steps = [type(one).__name__ for one in result] if streams else [result]
        return [steps, sorted(application.steps), memory(helper), helper.monitor.get_total_token_counts()]

    without = run()
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        assert run() == without
    assert without[1].count("helper: ActionStep") == 3


def test_everything_is_one_operation_in_its_place() -> None:
    application, helper = made("calling")
    hooks = Hooks()
    with recorder(hooks) as seen:
        assert helper.run(ASK) == "all done"
    assert sorted(nested(seen)) == sorted(
        [
            ("chat own", "invoke_agent helper"),
            ("execute_tool look_up", "invoke_agent helper"),
            ("execute_tool add", "invoke_agent helper"),
            ("chat own", "invoke_agent helper"),
            ("chat own", "invoke_agent expert"),
            ("execute_tool final_answer", "invoke_agent expert"),
            ("invoke_agent expert", "delegate_agent expert"),
            ("delegate_agent expert", "invoke_agent helper"),
            ("chat own", "invoke_agent helper"),
            ("execute_tool final_answer", "invoke_agent helper"),
            ("invoke_agent helper", ""),
        ]
    )
    assert len({span.context.trace_id for span in seen.spans if span.context is not None}) == 1
    assert application.threads != [threading.get_ident()]


def test_what_code_calls_is_inside_of_the_code() -> None:
    _, helper = made("coding")
    hooks = Hooks()
    with recorder(hooks) as seen:
        assert helper.run(ASK) == "all done: 5"
    assert nested(seen) == [
        ("chat own", "invoke_agent helper"),
        ("execute_tool look_up", "execute_tool python_interpreter"),
        ("execute_tool python_interpreter", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("chat own", "invoke_agent expert"),
        ("execute_tool final_answer", "invoke_agent expert"),
        ("invoke_agent expert", "delegate_agent expert"),
        ("delegate_agent expert", "execute_tool python_interpreter"),
        ("execute_tool python_interpreter", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("execute_tool add", "execute_tool python_interpreter"),
        ("execute_tool final_answer", "execute_tool python_interpreter"),
        ("execute_tool python_interpreter", "invoke_agent helper"),
        ("invoke_agent helper", ""),
    ]


@KINDS
def test_usage_is_counted_once(kind: str) -> None:
    application, helper = made(kind)
    totals, hooks = list[tuple[str | None, int, int]](), Hooks()

    @hooks.after("agent.invoke")
    def total(op: Operation) -> None:
        totals.append((op.name, op.usage.input_tokens, op.usage.output_tokens))

    with recorder(hooks):
        helper.run(ASK)
    tokens = Tokens()
    assert application.models.tokens == 4 * tokens.total
    assert totals == [("expert", tokens.input, tokens.output), ("helper", 4 * tokens.input, 4 * tokens.output)]


@KINDS
def test_the_model_is_told_of_a_refused_tool_and_goes_on(kind: str) -> None:
    application, helper = made(kind)
    hooks = Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen:
        assert helper.run(ASK).startswith("all done")
    (error,) = [step.error for step in helper.memory.steps if getattr(step, "error", None) is not None]
    told = {
        "calling": "Error executing tool 'look_up' with arguments {'query': 'tea'}: Reject: not today\n"
        "Please try again or use another tool",
        "coding": "Code execution failed at line 'print(look_up('tea'))' due to: Reject: not today",
    }
    raised = {"calling": "AgentToolExecutionError", "coding": "AgentExecutionError"}
    assert (type(error).__name__, error.message) == (raised[kind], told[kind])
    assert statuses(seen)["execute_tool look_up"] == "rejected"
    assert statuses(seen)["invoke_agent helper"] == "success"
    assert application.threads == []


@KINDS
def test_the_model_is_told_of_a_refused_managed_agent(kind: str) -> None:
    application, helper = made(kind)
    hooks = Hooks()

    @hooks.before("agent.delegate", names={"expert"}, agents={"helper"})
    def refuse(op: Operation) -> None:
        assert op.request.arguments["task"] == ASK
        raise Reject("not today")

    with recorder(hooks) as seen:
        assert helper.run(ASK).startswith("all done")
    (error,) = [step.error for step in helper.memory.steps if getattr(step, "error", None) is not None]
    assert "not today" in error.message
    assert application.models.runs == 3
    assert "invoke_agent expert" not in statuses(seen)


@KINDS
@pytest.mark.parametrize("streams", [False, True])
def test_a_rejection_of_the_run_ends_it_from_inside_of_a_thread(kind: str, streams: bool) -> None:
    application, helper = made(kind)
    hooks = Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with recorder(hooks) as seen, pytest.raises(Reject, match="enough") as raised:
        result = helper.run(ASK, stream=streams)
        if streams:
            list(result)
    assert type(raised.value) is Reject
    assert application.models.runs == 1
    assert statuses(seen)["invoke_agent helper"] == "rejected"


@KINDS
def test_hooks_see_the_run_from_inside_of_threads(kind: str) -> None:
    _, helper = made(kind)
    seen_by, hooks = list[Any](), Hooks()

    @hooks.before("tool.execute", names={"look_up", "add"})
    def look(op: Operation) -> None:
        seen_by.append((op.name, op.request.arguments, op.agent))

    with recorder(hooks):
        helper.run(ASK)
    assert sorted(seen_by, key=str) == [
        ("add", {"first": 2, "second": 3}, "helper"),
        ("look_up", {"query": "tea"}, "helper"),
    ]


def test_over_http_the_ledger_says_the_same() -> None:
    pytest.importorskip("openai", reason="a client that the library works with")
    body, totals, hooks = Body(), list[int](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens + op.usage.output_tokens))
    with recorder(hooks) as seen:
        assert openai_agent(body).run(ASK) == Reply.text
    assert nested(seen) == [
        ("chat gpt-4o-mini", "invoke_agent helper"),
        ("execute_tool final_answer", "invoke_agent helper"),
        ("invoke_agent helper", ""),
    ]
    assert (totals, body.runs) == ([body.tokens], 1)


def test_what_a_callback_submits_to_a_pool_is_inside_of_the_run() -> None:
    application, apart = Application(), agent(Own(), name="apart")
    look_up, _ = application.tools
    with ThreadPoolExecutor(1) as pool:
        apart.step_callbacks.register(smolagents.ActionStep, lambda step, agent: pool.submit(look_up, "tea").result())
        with recorder(Hooks()) as seen:
            apart.model.turns = ([("final_answer", {"answer": "all done"})],)
            assert apart.run(ASK) == "all done"
    assert ("execute_tool look_up", "invoke_agent apart") in nested(seen)
