"""Runs: what hooks see of a task and answer, what leaves early, what the library's own callbacks are told."""

import gc
import inspect
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.smolagents_ways import ANSWERS, ASK, Own, agent, asking, smolagents
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder
from tests.overriding import REFUSED, refusing_milk


def statuses(seen: Recorder) -> list[tuple[str, str]]:
    return [(span.name, str((span.attributes or {})["spanhook.status"])) for span in seen.spans]


def test_what_a_hook_sees_of_a_run() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("agent.invoke")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.inputs, op.request.messages, "tool" in op.request.system))

    @hooks.after("agent.invoke")
    def said(op: Operation) -> None:
        seen.append(op.response.text)

    with recorder(hooks):
        asking(Body()).run(ASK)
    task = [{"role": "user", "parts": [{"type": "text", "content": ASK}]}]
    assert seen == [("helper", ASK, task, True), Reply.text]


@pytest.mark.parametrize("change", [{"inputs": "Greet me."}, {"messages": [{"role": "user", "content": "Greet me."}]}])
def test_a_rewritten_task_arrives(change: Any) -> None:
    hooks, made = Hooks(), asking(Body())
    hooks.before("agent.invoke")(lambda op: op.replace(**change))
    with recorder(hooks):
        made.run(ASK)
    assert made.memory.steps[0].task == "Greet me."


def test_an_answer_has_the_form_that_was_asked_for() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("agent.invoke")
    def answer(op: Operation) -> None:
        op.respond("tea")

    made = asking(body)
    with recorder(hooks):
        assert made.run(ASK) == "tea"
        stream = made.run(ASK, stream=True)
        assert inspect.isgenerator(stream)
        steps: list[Any] = list(stream)
        whole = made.run(ASK, return_full_result=True) if "return_full_result" in _parameters(made) else None
    assert [(type(one).__name__, one.output) for one in steps] == [("FinalAnswerStep", "tea")]
    assert whole is None or (type(whole), whole.output) == (smolagents.RunResult, "tea")
    assert body.runs == 0


def _parameters(made: Any) -> Any:
    return inspect.signature(made.run).parameters


@pytest.mark.parametrize("streams", [False, True])
def test_a_refused_run_changes_nothing_of_the_agent(streams: bool) -> None:
    hooks, made = Hooks(), asking(Body())

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen, pytest.raises(Reject, match="not today"):
        made.run(ASK, stream=streams)
    assert made.memory.steps == []
    assert statuses(seen) == [("invoke_agent helper", "rejected")]


def _left_early(made: Any) -> list[Any]:
    """What a consumer gets that closes the stream in the middle of a step: the library then goes on, and fails."""
    stream = made.run(ASK, stream=True)
    first = type(next(stream)).__name__
    try:
        stream.close()
    except RuntimeError as error:
        return [first, str(error), len(made.memory.steps)]
    return [first, "", len(made.memory.steps)]


def test_a_stream_that_is_closed_in_a_step_does_as_without() -> None:
    without = _left_early(asking(Body()))
    with recorder(Hooks()) as seen:
        assert _left_early(asking(Body())) == without
    assert seen.spans[-1].name == "invoke_agent helper"


def test_a_stream_that_is_closed_between_steps_is_left() -> None:
    with recorder(Hooks()) as seen:
        stream = agent(Own(Body(), "A plan.", ANSWERS), planning_interval=3).run(ASK, stream=True)
        assert type(next(stream)).__name__ == "PlanningStep"
        stream.close()
    assert statuses(seen) == [("chat own", "success"), ("invoke_agent helper", "abandoned")]


def test_a_stream_that_nobody_reads_on_ends_its_run() -> None:
    with recorder(Hooks()) as seen:
        stream = agent(Own(Body(), "A plan.", ANSWERS), planning_interval=3).run(ASK, stream=True)
        next(stream)
        del stream
        gc.collect()
    assert statuses(seen)[-1] == ("invoke_agent helper", "abandoned")


def test_a_run_that_is_interrupted_raises_the_librarys_error() -> None:
    made = asking(Body())
    made.step_callbacks.register(smolagents.ActionStep, lambda step, agent: agent.interrupt())
    made.model.turns = ([("final_answer", {"wrong": 1})],)
    with recorder(Hooks()) as seen, pytest.raises(smolagents.AgentError, match="interrupted"):
        made.run(ASK)
    assert statuses(seen)[-1] == ("invoke_agent helper", "error")


def test_the_librarys_own_checks_and_callbacks_run_once() -> None:
    called = list[str]()

    def check(answer: Any, *_args: Any, **_given: Any) -> bool:
        called.append(f"check {answer}")
        return True

    made = agent(
        Own(Body(), ANSWERS), final_answer_checks=[check], step_callbacks=[lambda step, agent: called.append("step")]
    )
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    with recorder(hooks):
        made.run(ASK)
    assert called == [f"check {Reply.text}", "step"]


def test_totals_are_the_librarys_own() -> None:
    body, totals, hooks = Body(), list[Any](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append((op.usage.input_tokens, op.usage.output_tokens)))
    made = asking(body)
    with recorder(hooks):
        made.run(ASK)
    tokens = made.monitor.get_total_token_counts()
    assert totals == [(tokens.input_tokens, tokens.output_tokens)] == [(Tokens().input, Tokens().output)]


@pytest.mark.parametrize("call", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_an_override_that_asks_for_something_else_is_asked_about_again(stream: bool, call: bool) -> None:
    class Editing(smolagents.ToolCallingAgent):
        def run(self, task: Any, *args: Any, **given: Any) -> Any:
            return super().run("milk" if not call else task, *args, **given)

        def __call__(self, task: Any, **given: Any) -> Any:
            return super().__call__("milk", **given)

    body = Body()
    made = asking(body)
    made.__class__ = Editing
    hooks, asked = refusing_milk("agent.delegate" if call else "agent.invoke")
    with recorder(hooks), pytest.raises(Reject, match=REFUSED):
        if call:
            made(ASK)
        else:
            [*made.run(ASK, stream=True)] if stream else made.run(ASK)
    assert (asked, body.runs) == ([False, True], 0)
