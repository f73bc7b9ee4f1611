"""Agents, clients, tools and workflows of Agent Framework, made so that they count, and every way of calling them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import cache
from importlib import import_module
from typing import Any

from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body, Query, Use

framework: Any = import_module("agent_framework")  # it is not in the environment that types are checked in
observability: Any = import_module("agent_framework.observability")
Content, Message, Update = framework.Content, framework.Message, framework.ChatResponseUpdate

ASK = "Say hello."
FOUND = "found leaves everywhere"
"""What the tools of these agents return."""
Turn = str | tuple[tuple[str, dict[str, Any]], ...]
"""What a scripted model says: text, or tools and their arguments."""


class Plain(framework.BaseChatClient):
    """A client of the application's own, in turns, which calls no tools; without any, it repeats what a tool told it.

    Args:
        body: What its calls are runs of.
        turns: What it says, one after the other; the last one from then on.
    """

    model = "own"

    def __init__(self, body: Body | None = None, *turns: Turn, **given: Any) -> None:
        framework.BaseChatClient.__init__(self, **given)
        self.script(body, *turns)

    def script(self, body: Body | None, *turns: Turn) -> None:
        self.body, self.turns, self.calls = body, turns or (Reply.text,), 0

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_given: Any) -> Any:
        return self.answer(messages, stream=stream)

    def answer(self, messages: Any, *, stream: bool) -> Any:
        return self._build_response_stream(self._updates(messages)) if stream else self._response(messages)

    async def _response(self, messages: Any) -> Any:
        contents, tokens, reason = await self._said(messages)
        made = Message("assistant", contents)
        return framework.ChatResponse(messages=[made], usage_details=used(tokens), finish_reason=reason)

    async def _updates(self, messages: Any) -> AsyncIterator[Any]:
        contents, tokens, reason = await self._said(messages)
        yield Update(contents=contents, role="assistant")
        yield Update(contents=[Content.from_usage(used(tokens))], finish_reason=reason)

    async def _said(self, messages: Any) -> tuple[list[Any], Tokens, str]:
        await asyncio.sleep(0)
        if self.body is not None:
            self.body.run([one.text for one in messages], Tokens().total)
        said = self.turns[min(self.calls, len(self.turns) - 1)]
        self.calls += 1
        tokens = Tokens() if self.body is not None else Tokens(0, 0)  # without a body, nobody counts them
        if not isinstance(said, str):
            calls = enumerate(said)
            return [_call(f"call_{self.calls}_{place}", *one) for place, one in calls], tokens, "tool_calls"
        return [Content.from_text(said or _told(messages))], tokens, "stop"


class Own(framework.FunctionInvocationLayer, framework.ChatMiddlewareLayer, observability.ChatTelemetryLayer, Plain):
    """The same with all that clients of the library have: the calls of tools, middleware, spans."""

    def __init__(self, body: Body | None = None, *turns: Turn, **given: Any) -> None:
        framework.FunctionInvocationLayer.__init__(self, **given)  # no layer takes arguments by place
        self.script(body, *turns)


def _call(call_id: str, name: str, arguments: dict[str, Any]) -> Any:
    return Content.from_function_call(call_id, name, arguments=arguments)


def _told(messages: Any) -> str:
    """What the model was last told by a tool."""
    return str(messages[-1].contents[-1].result)


def used(tokens: Tokens) -> dict[str, int]:
    """Usage as the library has it."""
    return {
        "input_token_count": tokens.input,
        "output_token_count": tokens.output,
        "total_token_count": tokens.total,
    }


@cache
def openai() -> OpenAIServer:
    return OpenAIServer().__enter__()


def _over_http(name: str, body: Body) -> Any:
    url = openai().url_for(Line(body, lambda _seen: Tokens().total))
    return client_at(url, name)


def client_at(url: str, name: str) -> Any:
    """One of the library's clients over HTTP."""
    made: Any = getattr(import_module("agent_framework.openai"), name)
    client_of: Any = import_module("spanhook.cli.conformance.libraries.openai_scripts").client_of
    return made(model="gpt-4o-mini", async_client=client_of(url))


def openai_client(body: Body) -> Any:
    """A client behind HTTP, whose requests are the runs of the body."""
    return _over_http("OpenAIChatCompletionClient", body)


def responses_client(body: Body) -> Any:
    """The same over OpenAI's newer API."""
    return _over_http("OpenAIChatClient", body)


def agent(client: Any, *tools: Any, name: str = "helper", **given: Any) -> Any:
    return framework.Agent(client, tools=[*tools], name=name, **given)


def asking(body: Body) -> Any:
    return agent(Own(body))


def _of_agent(update: Any) -> Any:
    return framework.AgentResponseUpdate(contents=update.contents, role=update.role)


def other_agent(body: Body) -> Any:
    """An agent whose client only has the methods of one."""

    class Other:
        model = "other"

        def __init__(self) -> None:
            self.additional_properties, self.answering = dict[str, Any](), Plain(body)

        def get_response(self, messages: Any, *, stream: bool = False, options: Any = None, **_given: Any) -> Any:
            return self.answering.answer(messages, stream=stream)

    return agent(Other())


def own_agent(body: Body) -> Any:
    """An agent of a class of the application's own, without the library's."""

    class Asking(framework.BaseAgent):
        def run(self, messages: Any = None, *, stream: bool = False, **_given: Any) -> Any:
            client, asked = Plain(body), [Message("user", [messages])]
            if not stream:
                return self._once(client, asked)
            told = client.get_response(asked, stream=True)
            return told.map(_of_agent, framework.AgentResponse.from_updates)

        async def _once(self, client: Any, asked: Any) -> Any:
            return framework.AgentResponse(messages=(await client.get_response(asked)).messages)

    return Asking(name="helper")


def openai_agent(body: Body) -> Any:
    return agent(openai_client(body))


def responses_agent(body: Body) -> Any:
    return agent(responses_client(body))


def tool(body: Body) -> Any:
    @framework.tool(approval_mode="never_require")
    def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return look_up


def async_tool(body: Body) -> Any:
    @framework.tool(approval_mode="never_require")
    async def look_up(query: Query) -> str:
        """Look something up."""
        await asyncio.sleep(0)
        body.run(query)
        return FOUND

    return look_up


def own_tool(body: Body) -> Any:
    """A tool of a class of the application's own, which executes itself."""

    class LookUp(framework.FunctionTool):
        async def invoke(self, *, arguments: Any = None, **_given: Any) -> Any:
            await asyncio.sleep(0)
            body.run(dict(arguments)["query"])
            return [Content.from_text(FOUND)]

    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    return LookUp(name="look_up", description="Look something up.", func=_unused, input_model=schema)


def _unused(query: str) -> str:
    raise AssertionError(query)


def using(made: Callable[[Body], Any]) -> Callable[[Body], Any]:
    """An agent that uses a tool once and then repeats what it was told."""

    def using_it(body: Body) -> Any:
        return agent(Own(None, (("look_up", {"query": "tea"}),), ""), made(body))

    return using_it


def workflow_of(body: Body) -> Any:
    return framework.WorkflowBuilder(name="desk", start_executor=asking(body)).build()


# ------------------------------------------------------------------------------------------------- ways


Call = Callable[..., Any]
"""What a way calls, on the event loop: some versions want that what they return is awaited where they were called."""


async def _text(call: Call, *args: Any, **given: Any) -> str:
    return str((await call(*args, **given)).text)


async def _streamed(call: Call, *args: Any, **given: Any) -> str:
    return "".join([one.text async for one in call(*args, stream=True, **given)])


async def _both(call: Call, *args: Any) -> str:
    """What a stream says, and its response after that."""
    made = call(*args, stream=True)
    said = "".join([one.text async for one in made])
    assert said.endswith((await made.get_final_response()).text.split("\n")[-1])
    return said


async def _response(call: Call, *args: Any) -> str:
    return str((await call(*args, stream=True).get_final_response()).text)


async def _mapped(call: Call, *args: Any) -> str:
    """What a stream says that reads another."""
    return "".join([one.text async for one in call(*args, stream=True).map(_same, _same)])


def _same(given: Any) -> Any:
    return given


async def _hooked(call: Call, *args: Any) -> str:
    """What a stream says to the library's own hooks."""
    said = list[str]()

    def hear(update: Any) -> None:
        said.append(update.text)

    await call(*args, stream=True).with_transform_hook(hear).get_final_response()
    return "".join(said)


async def _raw(call: Call, **given: Any) -> str:
    return "".join(str(one.text) for one in await call(**given))


async def _outputs(call: Call) -> list[str]:
    return [str(one.text) for one in (await call(ASK)).get_outputs()]


async def _events(call: Call) -> list[str]:
    return [str(one.data.text) async for one in call(ASK, stream=True) if one.type == "output"]


def messages() -> list[Any]:
    return [Message("user", [ASK])]


MODEL_WAYS: dict[str, Use] = {
    "get_response": lambda client: _text(client.get_response, messages()),
    "stream": lambda client: _streamed(client.get_response, messages()),
    "stream, then its response": lambda client: _both(client.get_response, messages()),
    "response of a stream": lambda client: _response(client.get_response, messages()),
    "mapped stream": lambda client: _mapped(client.get_response, messages()),
    "stream with hooks": lambda client: _hooked(client.get_response, messages()),
}
MODEL_STREAMS: dict[str, Use] = {"stream": lambda client: client.get_response(messages(), stream=True)}
AGENT_WAYS: dict[str, Use] = {
    "run": lambda agent: _text(agent.run, ASK),
    "stream": lambda agent: _streamed(agent.run, ASK),
    "stream, then its response": lambda agent: _both(agent.run, ASK),
    "response of a stream": lambda agent: _response(agent.run, ASK),
    "mapped stream": lambda agent: _mapped(agent.run, ASK),
    "stream with hooks": lambda agent: _hooked(agent.run, ASK),
}
TOOL_WAYS: dict[str, Use] = {
    "invoke": lambda tool: _raw(tool.invoke, arguments={"query": "tea"}),
    "invoke by name": lambda tool: _raw(tool.invoke, query="tea"),
}
CALL_WAYS: dict[str, Use] = {"call": lambda tool: tool("tea"), "call by name": lambda tool: tool(query="tea")}
WORKFLOW_WAYS: dict[str, Use] = {
    "run": lambda workflow: _outputs(workflow.run),
    "stream": lambda workflow: _events(workflow.run),
    "as an agent": lambda workflow: _text(workflow.as_agent().run, ASK),
    "as a streaming agent": lambda workflow: _streamed(workflow.as_agent().run, ASK),
}
