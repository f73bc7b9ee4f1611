"""CrewAI's tools: in front of its cache, around its retries, beside its own hooks, and inside of its models."""

from collections.abc import Iterator
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.crewai_ways import (
    ASK,
    FOUND,
    INPUTS,
    Calling,
    Own,
    Using,
    agent,
    crew,
    crewai,
    model,
    openai,
    task,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Call, Reply
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

TOLD = "Tool call rejected: Not today"
BOTH = pytest.mark.parametrize("llm", [Using, Calling])


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    spanhook.uninstrument()


def refuse(_op: Operation) -> None:
    raise Reject("Not today")


@BOTH
def test_a_refused_tool_is_asked_about_once_and_its_model_is_told(llm: type[Own], hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        asked.append(op.name)
        raise Reject("Not today")

    body = Body()
    spanhook.instrument(hooks)
    assert crew(agent(llm(), tool(body))).kickoff(INPUTS).raw.endswith(TOLD)
    assert asked == ["look_up"]
    assert not body.runs


def two(llm: type[Own], body: Body) -> Any:
    """A crew of two agents with one cache, who use the same tool."""
    agents = [agent(llm(), tool(body)), agent(llm(), tool(body))]
    agents[1].role = "second"
    return crewai.Crew(agents=agents, tasks=[task(one) for one in agents], cache=True)


@BOTH
def test_a_cached_result_is_gated(llm: type[Own], hooks: Hooks) -> None:
    body = Body()
    assert two(llm, body).kickoff(INPUTS).raw.endswith(FOUND)
    assert body.runs == 1

    hooks.before("tool.execute", agents={"second"})(refuse)
    spanhook.instrument(hooks)
    assert two(llm, body).kickoff(INPUTS).raw.endswith(TOLD)
    assert body.runs == 2


@BOTH
def test_a_refusal_is_not_cached(llm: type[Own], hooks: Hooks) -> None:
    body = Body()
    hooks.before("tool.execute", agents={"helper"})(refuse)
    spanhook.instrument(hooks)
    output = two(llm, body).kickoff(INPUTS)
    assert [one.raw.rpartition("Answer: ")[2] for one in output.tasks_output] == [TOLD, FOUND]
    assert body.runs == 1


@BOTH
@pytest.mark.parametrize("does", ["replaces", "looks"])
def test_a_result_that_a_hook_replaces_is_not_cached(llm: type[Own], hooks: Hooks, does: str) -> None:
    body = Body()

    @hooks.after("tool.execute", agents={"helper"})
    def hide(op: Operation) -> None:
        if does == "replaces":
            op.respond("hidden")

    spanhook.instrument(hooks)
    output = two(llm, body).kickoff(INPUTS)
    answers = [one.raw.rpartition("Answer: ")[2] for one in output.tasks_output]
    assert answers == (["hidden", FOUND] if does == "replaces" else [FOUND, FOUND])
    assert body.runs == (2 if does == "replaces" else 1)


@BOTH
def test_a_rewrite_is_looked_up_in_the_cache(llm: type[Own], hooks: Hooks) -> None:
    body = Body()
    hooks.before("tool.execute", agents={"second"})(lambda op: op.replace(arguments={"query": "coffee"}))
    spanhook.instrument(hooks)
    two(llm, body).kickoff(INPUTS)
    assert body.seen == ["tea", "coffee"]

    hooks.before("tool.execute", agents={"helper"})(lambda op: op.replace(arguments={"query": "coffee"}))
    spanhook.instrument(hooks)
    two(llm, body).kickoff(INPUTS)
    assert body.seen == ["tea", "coffee", "coffee"]  # both agents ask for the same now


@BOTH
def test_a_refusal_is_not_the_answer_of_the_task(llm: type[Own], hooks: Hooks) -> None:
    if llm is Using:
        pytest.importorskip(
            "crewai.tools.tool_failure", reason="before 1.15.9, any result of such a tool is the answer"
        )
    hooks.before("tool.execute")(refuse)
    spanhook.instrument(hooks)
    made = tool(Body())
    made.result_as_answer = True
    with recorder(hooks) as seen:
        agent(llm(), made).kickoff(ASK)
    assert len([op for op in seen.operations if op.kind == "llm.call"]) == 2


@BOTH
def test_a_tool_that_fails_is_one_operation_however_often_it_is_tried(llm: type[Own], hooks: Hooks) -> None:
    class Failing(type(tool(Body()))):  # pyright: ignore[reportUntypedBaseClass]
        runs: int = 0

        def _run(self, query: str) -> str:
            self.runs += 1
            raise ValueError("broken")

    failing = Failing()
    with recorder(hooks) as seen:
        agent(llm(), failing).kickoff(ASK)
    (op,) = [op for op in seen.operations if op.kind == "tool.execute"]
    assert op.status == "error"
    assert failing.runs == (1 if llm is Calling else 6)  # as text, three times with and without unknown arguments


@BOTH
def test_what_its_own_hooks_ask_instead_is_decided_about_again(llm: type[Own], hooks: Hooks) -> None:
    own = pytest.importorskip("crewai.hooks", reason="versions that have hooks of their own")
    ran: list[str] = []

    def change(context: Any) -> None:
        ran.append(context.tool_name)
        context.tool_input["query"] = "poison"

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        if op.request.arguments["query"] == "poison":
            raise Reject("Not today")

    body = Body()
    spanhook.instrument(hooks)
    own.register_before_tool_call_hook(change)
    try:
        assert "Not today" in agent(llm(), tool(body)).kickoff(ASK).raw
    finally:
        own.unregister_before_tool_call_hook(change)
    assert ran == ["look_up"]
    assert not body.runs


@pytest.mark.parametrize("name", ["Search the Web", "search_the_web"])
@BOTH
def test_names_are_those_of_the_tool_and_of_the_model(llm: type[Own], name: str, hooks: Hooks) -> None:
    hooks.before("tool.execute", names={name})(refuse)
    body = Body()
    made = tool(body)
    made.name = "Search the Web"
    spanhook.instrument(hooks)
    with pytest.raises(Reject):
        made.run(query="tea")
    with pytest.raises(Reject):
        made.to_structured_tool().invoke({"query": "tea"})

    class Searching(llm):
        def call(self, *args: Any, **given: Any) -> Any:
            said = super().call(*args, **given)
            if isinstance(said, list):
                said[0]["function"]["name"] = "search_the_web"
                return said
            return said.replace("look_up", "search_the_web")

    assert "Not today" in agent(Searching(), made).kickoff(ASK).raw
    assert not body.runs


def test_functions_that_a_model_runs_itself_are_tools(hooks: Hooks) -> None:
    schema = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
    body = Body()
    llm, made = model(Body()), tool(body)
    given: Any = {"tools": [schema], "available_functions": {"look_up": made.run}}

    def called() -> str:
        openai().script(Reply(calls=(Call("look_up", {"query": "tea"}),)))
        return llm.call(ASK, **given)

    with recorder(hooks) as seen:
        assert called() == FOUND
    assert [op.kind for op in seen.operations] == ["tool.execute", "llm.call"]
    hooks.before("tool.execute")(refuse)
    spanhook.instrument(hooks)
    assert called() == TOLD
    assert body.runs == 1


def test_a_tool_is_used_by_position_and_keeps_its_limits(hooks: Hooks) -> None:
    seen: list[Any] = []
    hooks.before("tool.execute")(lambda op: seen.append(op.request.arguments))
    spanhook.instrument(hooks)
    made = tool(Body())
    made.max_usage_count = 1
    assert made.run("tea") == FOUND
    assert "usage limit" in str(made.run("tea"))
    assert seen == [{"query": "tea"}, {"query": "tea"}]


def test_tools_that_are_called_at_once_are_gated_apart(hooks: Hooks) -> None:
    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        if op.request.arguments["query"] == "poison":
            raise Reject("Not today")

    body, asked = Body(), Body()
    openai().script(Reply(calls=(Call("look_up", {"query": "tea"}, "a"), Call("look_up", {"query": "poison"}, "b"))))
    spanhook.instrument(hooks)
    crew(agent(model(asked), tool(body))).kickoff(INPUTS)
    assert body.seen == ["tea"]
    told = {one["tool_call_id"]: one["content"] for one in asked.seen[-1].body["messages"] if one["role"] == "tool"}
    assert told == {"a": FOUND, "b": TOLD}


CALLED = {"id": "call_1", "function": {"name": "look_up", "arguments": '{"query": "tea"}'}}


def test_a_tool_of_a_planned_step_is_gated(hooks: Hooks) -> None:
    steps = pytest.importorskip("crewai.agents.step_executor", reason="versions with plans")
    body = Body()
    made = tool(body)
    given: Any = {"task": None, "crew": None, "agent": None, "tools_handler": None, "event_source": made}
    given |= {"original_tools": [made], "structured_tools": [], "available_functions": {"look_up": made.run}}

    def call() -> Any:
        return steps.execute_single_native_tool_call(CALLED, **given)

    with recorder(hooks) as seen:
        assert call().result == FOUND
    assert [op.name for op in seen.operations] == ["look_up"]

    hooks.after("tool.execute")(lambda op: op.respond("none of that"))
    spanhook.instrument(hooks)
    assert call().tool_message["content"] == call().result == "none of that"
    hooks.before("tool.execute")(refuse)
    spanhook.instrument(hooks)
    assert (call().result, call().result_as_answer) == (TOLD, False)
    assert body.runs == 3


@pytest.mark.parametrize("llm", [Calling])
def test_a_tool_of_the_older_executor_is_gated(llm: type[Own], hooks: Hooks) -> None:
    older = pytest.importorskip("crewai.agents.crew_agent_executor", reason="newer versions have one executor")
    body = Body()
    made = agent(llm(), tool(body), executor_class=older.CrewAgentExecutor)
    with recorder(hooks) as seen:
        assert crew(made).kickoff(INPUTS).raw.endswith(FOUND)
    assert [op.kind for op in seen.operations].count("tool.execute") == 1
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"query": "coffee"}))
    spanhook.instrument(hooks)
    crew(made).kickoff(INPUTS)
    assert body.seen == ["tea", "coffee"]
    hooks.before("tool.execute")(refuse)
    spanhook.instrument(hooks)
    assert crew(made).kickoff(INPUTS).raw.endswith(TOLD)
    assert body.runs == 2


@pytest.mark.parametrize("refused", [False, True])
@BOTH
def test_what_hooks_make_of_a_result_is_the_answer_of_the_task(llm: type[Own], hooks: Hooks, *, refused: bool) -> None:
    @hooks.after("tool.execute")
    def change(op: Operation) -> None:
        if refused:
            raise Reject("Not today")
        op.respond("nothing of that")

    spanhook.instrument(hooks)
    made = tool(Body())
    made.result_as_answer = True
    assert FOUND not in crew(agent(llm(), made)).kickoff(INPUTS).raw


def test_two_tools_of_one_name_are_two_operations(hooks: Hooks) -> None:
    first, second, asked = Body(), Body(), Body()
    openai().script(Reply(calls=(Call("look_up", {"query": "tea"}, "a"), Call("look_up_2", {"query": "milk"}, "b"))))
    with recorder(hooks) as seen:
        crew(agent(model(asked), tool(first), tool(second))).kickoff(INPUTS)
    assert sorted(op.name for op in seen.operations if op.kind == "tool.execute") == ["look_up", "look_up_2"]
    assert (first.seen, second.seen) == (["tea"], ["milk"])
