"""The SDK's guardrails: events of the operation that they run in, and what they decide is how it ends."""

from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    ToolGuardrailFunctionOutput,
    function_tool,
    tool_input_guardrail,
    tool_output_guardrail,
)

from spanhook import Hooks, Operation
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder
from tests.instrument.openai_agents.scripted import Way, both_ways, go, outputs, scripted, told


def results(seen: Recorder) -> list[tuple[str, str, str]]:
    """What each span tells of guardrails: the span's name, the guardrail's, its result."""
    return [
        (span.name, str((event.attributes or {})["gen_ai.guardrail.component.name"]), value)
        for span in seen.spans
        for event in span.events
        if event.name == "gen_ai.guardrail.result"
        and isinstance(value := (event.attributes or {})["gen_ai.guardrail.result.value"], str)
    ]


def checking(trips: bool) -> Any:
    async def check(_context: Any, _agent: Any, _given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info="the secret reason", tripwire_triggered=trips)

    return check


@pytest.mark.parametrize("in_parallel", [True, False])
@pytest.mark.parametrize("trips", [True, False])
@both_ways
def test_of_inputs(way: Way, trips: bool, in_parallel: bool) -> None:
    body = Body()
    guard = InputGuardrail(checking(trips), name="no spam", run_in_parallel=in_parallel)
    agent = Agent(name="helper", model=scripted(body), input_guardrails=[guard])
    with recorder() as seen:
        if trips:
            with pytest.raises(InputGuardrailTripwireTriggered):
                go(way, agent)
        else:
            go(way, agent)
    assert results(seen) == [("invoke_agent helper", "no spam", "tripwire_triggered" if trips else "passed")]
    assert told(seen)[-1] == ("agent.invoke", "helper", "error" if trips else "success")
    assert "secret" not in str([dict(event.attributes or {}) for span in seen.spans for event in span.events])
    if trips and not in_parallel:
        assert body.runs == 0


@pytest.mark.parametrize("trips", [True, False])
@both_ways
def test_of_outputs(way: Way, trips: bool) -> None:
    agent = Agent(
        name="helper", model=scripted(), output_guardrails=[OutputGuardrail(checking(trips), name="no secrets")]
    )
    with recorder() as seen:
        if trips:
            with pytest.raises(OutputGuardrailTripwireTriggered):
                go(way, agent)
        else:
            go(way, agent)
    assert results(seen) == [("invoke_agent helper", "no secrets", "tripwire_triggered" if trips else "passed")]
    assert told(seen)[-1] == ("agent.invoke", "helper", "error" if trips else "success")


@both_ways
def test_of_tools(way: Way) -> None:
    ran: list[int] = []
    hooks = Hooks()
    asked: list[str] = []

    @tool_input_guardrail
    def before(_data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("not with these")

    @tool_output_guardrail
    def after(_data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.allow()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        asked.append(op.name)

    def work() -> str:
        ran.append(1)
        return "did"

    guarded = function_tool(work, name_override="guarded")
    guarded.tool_input_guardrails = [before]
    watched = function_tool(work, name_override="watched")
    watched.tool_output_guardrails = [after]
    body = Body()
    model = scripted(body, [("guarded", "{}"), ("watched", "{}")], "done", "done")
    with recorder(hooks) as seen:
        go(way, Agent(name="helper", model=model, tools=[guarded, watched]))
    assert outputs(body) == ["not with these", "did"]
    assert ran == [1]
    assert asked == ["watched"]  # the other call is never made
    assert sorted(results(seen)) == [
        ("invoke_agent helper", "after", "allow"),
        ("invoke_agent helper", "before", "reject_content"),
    ]
