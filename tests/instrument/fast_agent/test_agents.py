"""Workflows of fast-agent: each agent that is asked is a run of its own, gated as such; the library's own hooks."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.fast_agent_ways import AgentConfig, agent_of, context, own_model
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


def _of(module: str, name: str) -> Any:
    return getattr(import_module(f"fast_agent.agents.{module}"), name)


def agents() -> list[Any]:
    return [agent_of(own_model(), name=name) for name in ("first", "second")]


def chain() -> Any:
    return _of("workflow.chain_agent", "ChainAgent")(AgentConfig("flow"), agents(), context=context())


def parallel() -> Any:
    made = _of("workflow.parallel_agent", "ParallelAgent")
    return made(AgentConfig("flow"), agent_of(own_model(), name="last"), agents(), context=context())


def router() -> Any:
    made = _of("workflow.router_agent", "RouterAgent")(AgentConfig("flow"), agents()[:1], context=context())
    made._llm = own_model()
    return made


def evaluator() -> Any:
    made = _of("workflow.evaluator_optimizer", "EvaluatorOptimizerAgent")
    return made(AgentConfig("flow"), *agents(), max_refinements=1, context=context())


WORKFLOWS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "chain": (chain, ["first", "flow", "second"]),
    "parallel": (parallel, ["first", "flow", "last", "second"]),
    "router": (router, ["first", "flow"]),
    "evaluator": (evaluator, ["first", "flow", "second"]),
}


@pytest.mark.parametrize("which", WORKFLOWS)
async def test_each_agent_is_a_run(which: str, hooks: Hooks) -> None:
    make, expected = WORKFLOWS[which]
    with recorder(hooks) as seen:
        await make().send("Say hello.")
    runs = [span.name.removeprefix("invoke_agent ") for span in seen.spans if span.name.startswith("invoke_agent ")]
    assert sorted({*runs}) == expected
    assert runs.count("flow") == 1


@pytest.mark.parametrize("which", ["chain", "parallel"])
async def test_an_agent_of_a_workflow_is_refused(which: str, hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("agent.invoke", names={"second"})
    def refuse(_op: Operation) -> None:
        raise Reject("Not today", scope="run")

    @hooks.before("llm.call")
    def note(op: Operation) -> None:
        asked.append(op.agent)

    spanhook.instrument(hooks)
    with pytest.raises(Reject, match="Not today"):
        await WORKFLOWS[which][0]().send("Say hello.")
    assert "second" not in asked


# ------------------------------------------------------------------------------------------- the library's own hooks


async def test_its_tool_hooks_run_once(hooks: Hooks) -> None:
    ran: list[str] = []

    async def search(query: str) -> str:
        """Search."""
        ran.append("tool")
        return query

    def noting(name: str) -> Any:
        async def note(_runner: Any, _message: Any) -> None:
            ran.append(name)

        return note

    @hooks.before("tool.execute")
    def before(_op: Operation) -> None:
        ran.append("gate")

    spanhook.instrument(hooks)
    agent = agent_of(own_model(), search)
    names = ("before_llm_call", "after_llm_call", "before_tool_call", "after_tool_call")
    agent.tool_runner_hooks = _of("tool_runner", "ToolRunnerHooks")(**{name: noting(name) for name in names})
    await agent.send('***CALL_TOOL search {"query": "tea"}')
    llm = ["before_llm_call", "after_llm_call"]
    assert ran == [*llm, "before_tool_call", "gate", "tool", "after_tool_call", *llm]


# ------------------------------------------------------------------------------------------- code in a sandbox


_McpAgent: Any = _of("mcp_agent", "McpAgent")


@pytest.mark.skipif(
    not hasattr(_McpAgent, "_call_ptc_nested_tool"), reason="this version of fast-agent has no code that calls tools"
)
async def test_tools_that_sandboxed_code_calls(hooks: Hooks) -> None:
    """The code calls them behind ``call_tool``, here with the very arguments that its own tool was given."""
    ran: list[str] = []

    async def search(query: str) -> str:
        """Search."""
        ran.append(query)
        return query

    class Running(_McpAgent):
        async def call_tool(self, name: str, arguments: Any = None, *args: Any, **kwargs: Any) -> Any:
            this: Any = self
            if name == "execute":
                return await this._call_ptc_nested_tool("search", arguments, "call_1", request_params=None)
            base: Any = super()
            return await base.call_tool(name, arguments, *args, **kwargs)

    @hooks.before("tool.execute", names={"search"})
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    agent: Any = Running(AgentConfig("helper"), context=context(), tools=[search])
    result = await agent.call_tool("execute", {"query": "tea"})
    assert (result.content[0].text, ran) == ("Tool call rejected: Not today", [])
