"""Crews, flows and agents: what is inside of what, threads, streams, ends of runs."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.crewai_ways import (
    ASK,
    INPUTS,
    Flow,
    Own,
    Using,
    agent,
    asking,
    crew,
    crewai,
    flow_of,
    flows,
    model,
    task,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder
from tests.overriding import REFUSED, refusing_milk


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    spanhook.uninstrument()


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return sorted((span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans)


def test_a_crew_is_a_run_of_agents_of_models() -> None:
    totals: list[int] = []
    hooks = Hooks()
    hooks.after("run")(lambda op: totals.append(op.usage.input_tokens))
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens))
    with recorder(hooks) as seen:
        crew(agent(model(Body()))).kickoff(INPUTS)
    assert nested(seen) == [
        ("chat gpt-4o-mini", "invoke_agent helper"),
        ("invoke_agent helper", "invoke_workflow helpers"),
        ("invoke_workflow helpers", ""),
    ]
    assert totals == [Tokens().input, Tokens().input]


def test_a_run_that_a_tool_ends_is_over(hooks: Hooks) -> None:
    @hooks.before("tool.execute")
    def end(_op: Operation) -> None:
        raise Reject("Not today", scope="run")

    body = Body()
    spanhook.instrument(hooks)
    made = crew(agent(Using(), tool(body)))
    with pytest.raises(Reject, match="Not today"):
        made.kickoff(INPUTS)
    with pytest.raises(Reject, match="Not today"):
        asyncio.run(made.akickoff(INPUTS))
    assert not body.runs


@pytest.mark.parametrize("way", ["kickoff_async", "kickoff_for_each", "kickoff_for_each_async", "akickoff_for_each"])
def test_each_crew_of_a_kickoff_is_a_run_however_it_is_started(way: str) -> None:
    many = "each" in way
    with recorder() as seen:
        made: Any = getattr(crew(asking(Body())), way)([INPUTS, INPUTS] if many else INPUTS)
        output: Any = asyncio.run(made) if asyncio.iscoroutine(made) else made
    assert [one.raw for one in (output if many else [output])] == [Reply.text] * (1 + many)
    assert [op.name for op in seen.operations if op.kind == "run"] == ["helpers"] * (1 + many)


def test_tasks_in_threads_belong_to_the_crew() -> None:
    made = asking(Body())
    later, last = task(made), task(made)
    later.async_execution = True
    with recorder() as seen:
        crewai.Crew(agents=[made], tasks=[later, last]).kickoff(INPUTS)
    assert [one for one in nested(seen) if one[0] == "invoke_agent helper"] == [
        ("invoke_agent helper", "invoke_workflow crew"),
        ("invoke_agent helper", "invoke_workflow crew"),
    ]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_flow_is_a_run_with_what_its_steps_start(*, is_async: bool) -> None:
    body = Body()

    class Asking(Flow):  # pyright: ignore[reportUntypedBaseClass]
        @flows.start()
        def ask(self) -> Any:
            return crew(asking(body)).kickoff(INPUTS).raw

        @flows.listen("ask")
        async def again(self) -> Any:
            return (await asking(body).kickoff_async(ASK)).raw

    with recorder() as seen:
        flow = Asking()
        assert (asyncio.run(flow.kickoff_async()) if is_async else flow.kickoff()) == Reply.text
    assert body.runs == 2
    assert nested(seen) == [
        ("chat own", "invoke_agent helper"),
        ("chat own", "invoke_agent helper"),
        ("invoke_agent helper", "invoke_workflow Asking"),
        ("invoke_agent helper", "invoke_workflow helpers"),
        ("invoke_workflow Asking", ""),
        ("invoke_workflow helpers", "invoke_workflow Asking"),
    ]


def test_an_agent_that_is_asked_on_an_event_loop_is_one_run() -> None:
    async def main() -> str:
        return (await asking(Body()).kickoff(ASK)).raw

    with recorder() as seen:
        assert asyncio.run(main()) == Reply.text
    assert [op.kind for op in seen.operations] == ["llm.call", "agent.invoke"]


def test_hooks_are_asked_about_a_crew_and_a_refused_one_starts_nothing(hooks: Hooks) -> None:
    @hooks.before("run", names={"helpers"})
    def look(op: Operation) -> None:
        assert op.request.inputs == INPUTS
        raise Reject("Not today")

    body = Body()
    spanhook.instrument(hooks)
    with pytest.raises(Reject, match="Not today"):
        crew(asking(body)).kickoff(INPUTS)
    output = crew(asking(body), stream=True).kickoff(INPUTS)
    with pytest.raises(Reject, match="Not today"):
        list(output)
    assert not body.runs


def test_an_answer_to_an_agent_that_is_asked_on_an_event_loop_is_awaited(hooks: Hooks) -> None:
    async def main() -> str:
        return (await asking(body).kickoff(ASK)).raw

    body = Body()
    hooks.before("agent.invoke")(lambda op: op.respond("hello"))
    spanhook.instrument(hooks)
    assert asyncio.run(main()) == "hello"
    assert not body.runs


def test_the_function_of_a_method_is_gated(hooks: Hooks) -> None:
    @hooks.before("agent.invoke")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    body = Body()
    made = asking(body)
    spanhook.instrument(hooks)
    with pytest.raises(Reject, match="Not today"):
        made.kickoff.__func__(made, ASK)  # as CrewAI calls it for agents with A2A
    assert not body.runs


def test_inputs_in_a_role_are_no_part_of_the_agents_name() -> None:
    expert = crewai.Agent(role="{topic} expert", goal="Find.", backstory="x", llm=Own(Body()))
    said = crewai.Task(description="Say hello.", expected_output="A greeting.", agent=expert)
    with recorder() as seen:
        for _ in range(2):
            crewai.Crew(agents=[expert], tasks=[said]).kickoff({"topic": "planted"})
    names = [op.name for op in seen.operations if op.kind == "agent.invoke"]
    assert names == ["{topic} expert"] * 2
    assert not [span.name for span in seen.spans if "planted" in f"{span.name} {dict(span.attributes or {})}"]


def edited(way: str, given: Any, in_place: bool) -> Any:
    """Something else to ask for, in the form of what was given; in place if it has a form that allows that."""
    if way in ("execute_task", "aexecute_task"):
        return "milk"
    if not in_place:
        return {"topic": "milk"} if isinstance(given, dict) else "milk"
    if isinstance(given, dict):
        given["topic"] = "milk"
    else:
        given[-1]["content"] = "milk"
    return given


def editing(made: Any, way: str, in_place: bool) -> Any:
    """The same with an override of the method, which asks for something else."""
    base: Any = type(made)

    def told(args: Any, given: Any) -> tuple[Any, Any]:
        place = 1 if way in ("execute_task", "aexecute_task") else 0
        if len(args) > place:
            return (*args[:place], edited(way, args[place], in_place), *args[place + 1 :]), given
        (name,) = [one for one in ("inputs", "messages", "context") if one in given]
        return args, {**given, name: edited(way, given[name], in_place)}

    def override(self: Any, *args: Any, **given: Any) -> Any:
        args, given = told(args, given)
        return getattr(super(cls, self), way)(*args, **given)

    async def later(self: Any, *args: Any, **given: Any) -> Any:
        args, given = told(args, given)
        return await getattr(super(cls, self), way)(*args, **given)

    method = later if inspect.iscoroutinefunction(getattr(base, way)) else override
    cls: Any = type(base)("Editing", (base,), {"__module__": __name__, way: method})
    made.__class__ = cls
    return made


def asked_for() -> list[Any]:
    return [{"role": "user", "content": ASK}]


OVERRIDDEN: dict[str, Any] = {
    "crew kickoff": lambda body, edit: edit(crew(asking(body)), "kickoff").kickoff(dict(INPUTS)),
    "crew akickoff": lambda body, edit: asyncio.run(edit(crew(asking(body)), "akickoff").akickoff(dict(INPUTS))),
    "flow": lambda body, edit: edit(flow_of(body), "kickoff_async").kickoff(dict(INPUTS)),
    "agent kickoff": lambda body, edit: edit(asking(body), "kickoff").kickoff(asked_for()),
    "agent kickoff_async": lambda body, edit: asyncio.run(
        edit(asking(body), "kickoff_async").kickoff_async(asked_for())
    ),
    "task": lambda body, edit: edited_task(edit(asking(body), "execute_task")),
    "async task": lambda body, edit: asyncio.run(edited_async_task(edit(asking(body), "aexecute_task"))),
}


def edited_task(made: Any) -> Any:
    return made.execute_task(task(made), "tea")


async def edited_async_task(made: Any) -> Any:
    return await made.aexecute_task(task(made), "tea")


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("way", OVERRIDDEN)
def test_an_override_that_asks_for_something_else_is_asked_about_again(way: str, in_place: bool) -> None:
    body = Body()
    hooks, asked = refusing_milk("run" if way.startswith(("crew", "flow")) else "agent.invoke")
    with recorder(hooks), pytest.raises(Reject, match=REFUSED):
        OVERRIDDEN[way](body, lambda made, name: editing(made, name, in_place))
    assert (asked, body.runs) == ([False, True], 0)
