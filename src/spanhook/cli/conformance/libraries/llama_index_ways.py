"""Agents, workflows and tools of LlamaIndex, made so that they count, and every way of calling them."""

import asyncio
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from spanhook.cli.conformance.libraries.llama_index_models import ChatMessage, Own, Prompted, Turn
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body, Use

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    _agents: Any = import_module("llama_index.core.agent.workflow")  # not in the environment that types are checked in
    tools: Any = import_module("llama_index.core.tools")
    calling: Any = import_module("llama_index.core.tools.calling")
    _steps: Any = import_module("llama_index.core.workflow")
FunctionAgent, ReActAgent, AgentWorkflow = _agents.FunctionAgent, _agents.ReActAgent, _agents.AgentWorkflow
CodeActAgent, FunctionTool = _agents.CodeActAgent, tools.FunctionTool
StopEvent: Any = _steps.StopEvent

ASK = "Say hello."
FOUND = "found leaves everywhere"
"""What the tools of these agents return."""


def own(body: Body | None, *turns: Turn) -> Any:
    return Own(body=body, turns=turns or (Reply.text,))


def prompted(body: Body) -> Any:
    return Prompted(body=body)


@cache
def openai() -> OpenAIServer:
    return OpenAIServer().__enter__()


def openai_model(body: Body) -> Any:
    """A model behind HTTP, whose requests are the runs of the body."""
    made: Any = import_module("llama_index.llms.openai").OpenAI
    url = openai().url_for(Line(body, lambda _seen: Tokens().total))
    return made(model="gpt-4o-mini", api_key="test", api_base=url, max_retries=0, reuse_client=True)


def agent(model: Any, *given: Any, name: str = "helper", kind: Any = FunctionAgent, **others: Any) -> Any:
    return kind(name=name, description="Helps.", tools=[*given], llm=model, **others)


def asking(body: Body) -> Any:
    return agent(own(body))


def plain_agent(body: Body) -> Any:
    """An agent that does not stream."""
    return agent(own(body), streaming=False)


_THOUGHT = f"Thought: I can answer without using any more tools.\nAnswer: {Reply.text}"


def reacting(body: Body) -> Any:
    """An agent whose model says in words what it wants."""
    return agent(own(body, _THOUGHT), kind=ReActAgent)


def coding(body: Body) -> Any:
    """An agent whose model writes code."""
    return CodeActAgent(code_execute_fn=idle, name="helper", llm=own(body))


def idle(code: str) -> str:
    """Nobody asks for this."""
    return code


def openai_agent(body: Body) -> Any:
    return agent(openai_model(body))


def one_of_one(body: Body) -> Any:
    """A workflow of one agent."""
    return AgentWorkflow(agents=[agent(own(body))])


def team(body: Body) -> Any:
    """Two agents, of which the first hands over to the second, whose model counts."""
    first = agent(own(None, ("handoff", {"to_agent": "second", "reason": ASK})), name="first")
    return AgentWorkflow(agents=[first, agent(own(body), name="second")], root_agent="first")


class Flow(_steps.Workflow):  # pyright: ignore[reportUntypedBaseClass]
    """A workflow of the application's own."""

    def __init__(self, body: Body) -> None:
        base: Any = super()
        base.__init__()
        self.body = body

    async def answer(self, ev: Any) -> Any:
        self.body.run(ev.get("user_msg"))
        return StopEvent(result=Reply.text)

    answer.__annotations__ = {"ev": _steps.StartEvent, "return": StopEvent}  # it is read by the library
    answer = _steps.step(answer)


# ------------------------------------------------------------------------------------------------- tools


def tool(body: Body) -> Any:
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return FunctionTool.from_defaults(look_up)


def async_tool(body: Body) -> Any:
    async def look_up(query: str) -> str:
        """Look something up."""
        await asyncio.sleep(0)
        body.run(query)
        return FOUND

    return FunctionTool.from_defaults(async_fn=look_up)


def own_tool(body: Body) -> Any:
    """A tool of a class of the application's own, which is only called."""

    class LookUp(tools.BaseTool):  # pyright: ignore[reportUntypedBaseClass]
        @property
        def metadata(self) -> Any:
            return tools.ToolMetadata(name="look_up", description="Look something up.")

        def __call__(self, input: Any) -> Any:
            body.run(input)
            return tools.ToolOutput(content=FOUND, tool_name="look_up", raw_input={"input": input}, raw_output=FOUND)

    return LookUp()


def using(made: Callable[[Body], Any], name: str = "query") -> Callable[[Body], Any]:
    """An agent that uses a tool once and then repeats what it was told."""

    def using_it(body: Body) -> Any:
        return agent(own(None, ("look_up", {name: "tea"}), ""), made(body))

    return using_it


def predicting(body: Body) -> Any:
    """A model that uses a tool once, and the tool."""
    return own(None, ("look_up", {"query": "tea"})), tool(body)


# ------------------------------------------------------------------------------------------------- ways


def messages() -> list[Any]:
    return [ChatMessage(role="user", content=ASK)]


def _said(response: Any) -> str:
    return str(response.message.content)


async def _said_later(made: Any) -> str:
    return _said(await made)


async def _text_later(made: Any) -> str:
    return (await made).text


def _last(stream: Any) -> Any:
    return [*stream][-1]


async def _last_later(made: Any) -> Any:
    return [one async for one in await made][-1]


async def _said_last(made: Any) -> str:
    return _said(await _last_later(made))


async def _text_last(made: Any) -> str:
    return (await _last_later(made)).text


async def result(made: Any) -> Any:
    """The result of a run, which must begin on a loop."""
    return str(await made.run(user_msg=ASK))


async def _streamed(made: Any) -> Any:
    """The same, with its events read first."""
    handler = made.run(user_msg=ASK)
    async for _ in handler.stream_events():
        pass
    return str(await handler)


async def _started(made: Any) -> Any:
    """The same, begun with an event."""
    return str(await made.run(start_event=_agents.workflow_events.AgentWorkflowStartEvent(user_msg=ASK)))


async def _flow(made: Any) -> Any:
    return str(await made.run(user_msg=ASK))


def _predicted(made: Any) -> str:
    model, given = made
    return str(model.predict_and_call([given], user_msg=ASK))


async def _apredicted(made: Any) -> str:
    model, given = made
    return str(await model.apredict_and_call([given], user_msg=ASK))


def _content(output: Any) -> str:
    return output.content


async def _content_later(made: Any) -> str:
    return (await made).content


MODEL_WAYS: dict[str, Use] = {
    "chat": lambda model: _said(model.chat(messages())),
    "chat by name": lambda model: _said(model.chat(messages=messages())),
    "achat": lambda model: _said_later(model.achat(messages())),
    "stream_chat": lambda model: _said(_last(model.stream_chat(messages()))),
    "astream_chat": lambda model: _said_last(model.astream_chat(messages())),
    "complete": lambda model: model.complete(ASK).text,
    "acomplete": lambda model: _text_later(model.acomplete(ASK)),
    "stream_complete": lambda model: _last(model.stream_complete(ASK)).text,
    "astream_complete": lambda model: _text_last(model.astream_complete(ASK)),
}
AGENT_WAYS: dict[str, Use] = {"run": result, "run with its events": _streamed, "run from an event": _started}
FLOW_WAYS: dict[str, Use] = {"run": _flow, "run with its events": _streamed}
TOOL_WAYS: dict[str, Use] = {
    "call": lambda made: _content(made.call(query="tea")),
    "acall": lambda made: _content_later(made.acall(query="tea")),
    "the tool itself": lambda made: _content(made(query="tea")),
    "the tool itself by place": lambda made: _content(made("tea")),
}
OWN_TOOL_WAYS: dict[str, Use] = {
    "the tool itself": lambda made: _content(made("tea")),
    "adapted": lambda made: _content_later(tools.adapt_to_async_tool(made).acall("tea")),
}
CALLED_WAYS: dict[str, Use] = {
    "call_tool": lambda made: _content(calling.call_tool(made, {"query": "tea"})),
    "acall_tool": lambda made: _content_later(calling.acall_tool(made, {"query": "tea"})),
}
PREDICTING_WAYS: dict[str, Use] = {"predict_and_call": _predicted, "apredict_and_call": _apredicted}
OPENED: dict[str, Use] = {
    "stream_chat": lambda model: model.stream_chat(messages()),
    "astream_chat": lambda model: model.astream_chat(messages()),
    "stream_complete": lambda model: model.stream_complete(ASK),
    "astream_complete": lambda model: model.astream_complete(ASK),
}


def _kept(made: Any, name: str, use: Callable[[Any], Any]) -> Callable[[], Any]:
    method = getattr(made, name)
    return lambda: use(method)


KEPT_MODELS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "chat": lambda model: _kept(model, "chat", lambda chat: _said(chat(messages()))),
    "achat": lambda model: _kept(model, "achat", lambda chat: _said_later(chat(messages()))),
    "stream_chat": lambda model: _kept(model, "stream_chat", lambda chat: _said(_last(chat(messages())))),
    "complete": lambda model: _kept(model, "complete", lambda complete: complete(ASK).text),
}
KEPT_TOOLS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "call": lambda made: _kept(made, "call", lambda call: _content(call(query="tea"))),
    "acall": lambda made: _kept(made, "acall", lambda call: _content_later(call(query="tea"))),
}
