"""Crews, flows, agents, models and tools of CrewAI, and every way of calling them."""

import json
import os
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any, ClassVar

from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body, Query, Use

os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_DISABLE_VERSION_CHECK="true",
    CREWAI_TESTING="true",  # otherwise the first crew offers its user traces
    CREWAI_TRACING_ENABLED="false",
    CREWAI_STORAGE_DIR=os.environ.get("CREWAI_STORAGE_DIR") or tempfile.mkdtemp(prefix="spanhook-crewai-"),
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    crewai: Any = import_module("crewai")
    _base: Any = import_module("crewai.llms.base_llm")
    flows: Any = import_module("crewai.flow.flow")
    _tools: Any = import_module("crewai.tools")
    _structured: Any = import_module("crewai.tools.structured_tool")

ASK = "Say hello."
FOUND = "found leaves everywhere"
"""What the tool of these agents returns."""
MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASK}]
BaseLLM, BaseTool, Flow, StructuredTool = _base.BaseLLM, _tools.BaseTool, flows.Flow, _structured.CrewStructuredTool


@cache
def openai() -> OpenAIServer:
    return OpenAIServer().__enter__()


def model(body: Body, *, api: str = "completions", stream: bool = False) -> Any:
    """A model whose requests count as runs of ``body``."""
    url = openai().url_for(Line(body, lambda _seen: Tokens().total))
    return crewai.LLM(model="openai/gpt-4o-mini", base_url=url, api_key="test", max_retries=0, api=api, stream=stream)


class Own(BaseLLM):  # pyright: ignore[reportUntypedBaseClass]
    """A model of the application's own, which runs the body, or says what it is scripted to say."""

    _body: Any = None

    def __init__(self, body: Body | None = None) -> None:
        super().__init__(model="own")  # pyright: ignore[reportUnknownMemberType]
        self._body = body

    def call(self, messages: Any, *_args: Any, **_given: Any) -> Any:
        if self._body is not None:
            self._body.run(messages)
        return Reply.text

    async def acall(self, messages: Any, *args: Any, **given: Any) -> Any:
        return self.call(messages, *args, **given)

    def supports_function_calling(self) -> bool:
        return False


class Using(Own):
    """A model that uses the tool and then repeats what it was told; as text, or in a provider's form."""

    native: ClassVar[bool] = False

    def call(self, messages: Any, tools: Any = None, *_args: Any, **_given: Any) -> Any:
        for said in reversed(messages):
            if said["role"] == "tool" or (said["role"] == "assistant" and "Observation: " in str(said["content"])):
                told = str(said["content"]).rpartition("Observation: ")[2].strip()
                return f"Thought: I know it.\nFinal Answer: {told}"
        if self.native:
            if not tools:
                return "Final Answer: no tools"
            asked = {"name": "look_up", "arguments": '{"query": "tea"}'}
            return [{"id": "call_1", "type": "function", "function": asked}]
        return 'Thought: I look it up.\nAction: look_up\nAction Input: {"query": "tea"}'

    def supports_function_calling(self) -> bool:
        return self.native


class Calling(Using):
    native: ClassVar[bool] = True


def tool(body: Body) -> Any:
    class LookUp(BaseTool):  # pyright: ignore[reportUntypedBaseClass]
        name: str = "look_up"
        description: str = "Look something up."

        def _run(self, query: Query) -> str:
            body.run(query)
            return FOUND

        async def _arun(self, query: Query) -> str:
            body.run(query)
            return FOUND

    return LookUp()


def decorated(body: Body) -> Any:
    def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return _tools.tool("look_up")(look_up)


def structured(body: Body) -> Any:
    def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return StructuredTool.from_function(look_up)


def agent(llm: Any, *tools: Any, **given: Any) -> Any:
    return crewai.Agent(
        role="helper", goal="Help.", backstory="You help.", llm=llm, tools=[*tools], max_retry_limit=0, **given
    )


def asking(body: Body) -> Any:
    return agent(Own(body))


def using(llm: type[Own]) -> Callable[[Body], Any]:
    def made(body: Body) -> Any:
        return agent(llm(), tool(body))

    return made


class Delegating(Using):
    """A model that has its coworker look something up, and repeats what it is told."""

    def call(self, messages: Any, tools: Any = None, *_args: Any, **_given: Any) -> Any:
        said = super().call(messages, tools)
        if "Action: look_up" not in said:
            return said
        asked = {"task": ASK, "context": "tea", "coworker": "finder"}
        return f"Thought: I ask.\nAction: delegate_work_to_coworker\nAction Input: {json.dumps(asked)}"


def delegating(body: Body) -> Any:
    """A crew whose agent delegates to another, whose model counts."""
    boss = agent(Delegating(), allow_delegation=True)
    finder = crewai.Agent(role="finder", goal="Find.", backstory="You find.", llm=Own(body), max_retry_limit=0)
    return crewai.Crew(agents=[boss, finder], tasks=[task(boss)], name="helpers")


def task(made: Any) -> Any:
    return crewai.Task(description="Answer {topic}.", expected_output="An answer.", agent=made)


def crew(made: Any, *, stream: bool = False) -> Any:
    return crewai.Crew(agents=[made], tasks=[task(made)], name="helpers", stream=stream)


def crew_of(body: Body) -> Any:
    return crew(asking(body))


def flow_of(body: Body) -> Any:
    class Asking(Flow):  # pyright: ignore[reportUntypedBaseClass]
        @flows.start()
        def ask(self) -> str:
            body.run(self.state.get("topic"))
            return FOUND

    return Asking(suppress_flow_events=True)


async def _raw(awaited: Any) -> str:
    return (await awaited).raw


async def _astreamed(made: Any) -> str:
    output = await crew(made, stream=True).akickoff(INPUTS)
    async for _ in output:
        pass
    return output.result.raw


INPUTS = {"topic": "tea"}
MODEL_WAYS: dict[str, Use] = {
    "call": lambda llm: llm.call(MESSAGES),
    "call with a prompt": lambda llm: llm.call(ASK),
    "acall": lambda llm: llm.acall(MESSAGES),
}
MESSAGE_WAYS = {way: MODEL_WAYS[way] for way in ("call", "acall")}
TOOL_WAYS: dict[str, Use] = {"run": lambda tool: tool.run(query=ASK), "arun": lambda tool: tool.arun(query=ASK)}
INVOKE_WAYS: dict[str, Use] = {
    "invoke": lambda tool: tool.invoke({"query": ASK}),
    "ainvoke": lambda tool: tool.ainvoke({"query": ASK}),
}
AGENT_WAYS: dict[str, Use] = {
    "kickoff": lambda agent: agent.kickoff(ASK).raw,
    "akickoff": lambda agent: _raw(agent.akickoff(ASK)),
}
USING_WAYS: dict[str, Use] = {
    "by itself": lambda agent: agent.kickoff(ASK).raw,
    "in a crew": lambda agent: _raw(crew(agent).akickoff(INPUTS)),
}
STREAMED_CREW: dict[str, Use] = {"streamed akickoff": _astreamed}
TASK_WAYS: dict[str, Use] = {
    "execute_task": lambda agent: agent.execute_task(task(agent), ASK),
    "aexecute_task": lambda agent: agent.aexecute_task(task(agent), ASK),
}
CREW_WAYS: dict[str, Use] = {
    "kickoff": lambda crew: crew.kickoff(INPUTS).raw,
    "akickoff": lambda crew: _raw(crew.akickoff(INPUTS)),
}
FLOW_WAYS: dict[str, Use] = {
    "kickoff": lambda flow: flow.kickoff(INPUTS),
    "akickoff": lambda flow: flow.akickoff(INPUTS),
}
STREAMING = partial(model, stream=True)
RESPONSES = partial(model, api="responses")
