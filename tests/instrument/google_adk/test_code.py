"""Code that models write, where it is executed in this process."""

import asyncio
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import (
    FOUND,
    coding,
    execution,
    executor,
    last,
)
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.google_adk.made import events_of


def results(events: list[Any]) -> list[str]:
    """What the model was told of the code's results."""
    parts = [part for one in events if one.content for part in one.content.parts or ()]
    return [one.code_execution_result.output for one in parts if one.code_execution_result]


def test_what_a_hook_sees() -> None:
    seen, hooks = list[Any](), Hooks()
    hooks.before("tool.execute")(lambda op: seen.append((op.name, op.request.arguments, op.agent)))
    with recorder(hooks):
        assert last(asyncio.run(events_of(coding(Body())))) == "done"
    assert seen == [("code_execution", {"code": "print('tea')"}, "helper")]


def test_the_model_is_told_of_refused_code_and_goes_on() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("tool.execute", names={"code_execution"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks) as seen:
        events = asyncio.run(events_of(coding(body)))
    assert (body.runs, last(events)) == (0, "done")
    assert ["not today" in one for one in results(events)] == [True]
    assert (seen.spans[1].attributes or {})["spanhook.status"] == "rejected"


def test_other_code_is_executed_if_a_hook_rewrites_it() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"code": "print('milk')"}))
    with recorder(hooks):
        asyncio.run(events_of(coding(body)))
    assert body.seen == ["print('milk')"]


@pytest.mark.parametrize(("stdout", "status"), [("", "error"), ("half of it", "success")])
def test_code_that_only_complains_has_failed(stdout: str, status: str) -> None:
    made = executor(Body())
    given = execution.CodeExecutionInput(code="print('tea')")

    class Complaining(type(made)):  # pyright: ignore[reportUntypedBaseClass]
        def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
            super().execute_code(invocation_context, code_execution_input)
            return execution.CodeExecutionResult(stdout=stdout, stderr="no tea")

    with recorder(Hooks()) as seen:
        assert Complaining().execute_code(None, given).stderr == "no tea"
    (span,) = seen.spans
    assert (span.attributes or {})["spanhook.status"] == status


def test_a_hooks_answer_is_what_the_code_has_printed() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("tool.execute")(lambda op: op.respond(FOUND))
    with recorder(hooks):
        assert [FOUND in one for one in results(asyncio.run(events_of(coding(body))))] == [True]
    assert body.runs == 0
