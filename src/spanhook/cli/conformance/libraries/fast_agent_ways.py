"""Agents, models and tools of fast-agent, made so that they count, and every way of calling them."""

import asyncio
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

from mcp.types import GetPromptResult, PromptMessage, TextContent
from pydantic import BaseModel

from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body, Use


def _of(module: str, name: str) -> Any:
    """Something of the library, which is not in the environment that types are checked in."""
    return getattr(import_module(f"fast_agent.{module}"), name)


AgentConfig = _of("agents.agent_types", "AgentConfig")
ToolAgent = _of("agents.tool_agent", "ToolAgent")
AgentsAsToolsAgent = _of("agents.workflow.agents_as_tools_agent", "AgentsAsToolsAgent")
LoggerSettings, OpenAISettings = _of("config", "LoggerSettings"), _of("config", "OpenAISettings")
Settings = _of("config", "Settings")
Context = _of("context", "Context")
AgentLifecycleHooks = _of("hooks.lifecycle_hook_loader", "AgentLifecycleHooks")
PassthroughLLM = _of("llm.internal.passthrough", "PassthroughLLM")
OpenAILLM = _of("llm.provider.openai.llm_openai", "OpenAILLM")
Prompt = _of("mcp.prompt", "Prompt")

ASK = "Say hello."
FOUND = '{"city": "Reykjavik"}'
"""What models, tools and agents say here. It can be parsed."""
CALLED = '***CALL_TOOL {name} {{"query": "tea"}}'
"""What makes a passthrough model ask for a tool."""
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


class City(BaseModel):
    city: str


class Passing(PassthroughLLM):
    """A model in this process: each answer is a run of the body. A model without one only passes messages through."""

    def __init__(self, body: Body | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # pyright: ignore[reportUnknownMemberType]
        self._body = body

    async def _apply_prompt_provider_specific(self, multipart_messages: Any, *args: Any, **kwargs: Any) -> Any:
        if self._body is None:
            base: Any = super()
            return await base._apply_prompt_provider_specific(multipart_messages, *args, **kwargs)
        await asyncio.sleep(0)
        self._body.run([message.all_text() for message in multipart_messages])
        return Prompt.assistant(FOUND)


def context(**settings: Any) -> Any:
    quiet = LoggerSettings(type="none", progress_display=False, show_chat=False, show_tools=False)
    return Context(config=Settings(logger=quiet, llm_retries=0, session_history=False, **settings))


@cache
def _openai() -> OpenAIServer:
    return OpenAIServer().__enter__()


class _AtOnce(OpenAILLM):
    """A model whose client does not retry, as the model itself does not."""

    def _openai_client(self) -> Any:
        base: Any = super()
        return base._openai_client().with_options(max_retries=0)


def openai_model(body: Body) -> Any:
    """A model behind HTTP, whose requests are the runs of the body."""
    url = _openai().url_for(Line(body, lambda _seen: Tokens().total))
    return _AtOnce(context=context(openai=OpenAISettings(api_key="test", base_url=url)), model="gpt-4o-mini")


def own_model(body: Body | None = None) -> Any:
    return Passing(body, context=context())


def agent_of(model: Any, *tools: Any, name: str = "helper") -> Any:
    agent = ToolAgent(AgentConfig(name, "Be brief.", use_history=False), tools, model.context)
    agent._llm = model  # as attach_llm does, which is async
    return agent


def _passing(body: Body, **given: Any) -> Any:
    return Passing(body, context=given["context"])


def clonable(body: Body) -> Any:
    """An agent whose clones have models that count into the same body."""
    agent = agent_of(own_model(body), name="finder")
    agent._llm_factory_ref = partial(_passing, body)
    agent._llm_attach_kwargs = {}
    return agent


def own_agent(body: Body) -> Any:
    return agent_of(own_model(body))


def openai_agent(body: Body) -> Any:
    return agent_of(openai_model(body))


def async_tool(body: Body) -> Any:
    async def look_up(query: str) -> str:
        """Look something up."""
        await asyncio.sleep(0)
        body.run(query)
        return FOUND

    return agent_of(own_model(), look_up)


def sync_tool(body: Body) -> Any:
    def look_up(query: str) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return agent_of(own_model(), look_up)


def agent_tool(body: Body) -> Any:
    """An agent whose tool is another agent, whose model's answers are the runs of the body."""
    config = AgentConfig("helper", "Be brief.", use_history=False)
    made = AgentsAsToolsAgent(config, [clonable(body)], context=context())
    made._llm = own_model()
    return made


def living(body: Body) -> Any:
    """An agent whose card has a hook."""

    async def on_start(_context: Any) -> None:
        await asyncio.sleep(0)
        body.run("on_start")

    config = AgentConfig("helper", "Be brief.", lifecycle_hooks={"on_start": "hooks.py:on_start"})
    agent = ToolAgent(config, (), context())
    agent._lifecycle_hooks = AgentLifecycleHooks(on_start=on_start)  # as loaded
    return agent


def _asked() -> Any:
    return [Prompt.user(ASK)]


async def _said(made: Any) -> Any:
    """What an answer says, without the times that it was made at."""
    answer: Any = await made
    parsed, message = (None, answer) if hasattr(answer, "role") else answer
    return parsed, message.role, message.all_text(), message.tool_calls or None, message.stop_reason


MODEL_WAYS: dict[str, Use] = {
    "generate": lambda model: _said(model.generate(_asked())),
    "structured": lambda model: _said(model.structured(_asked(), City)),
}
AGENT_WAYS: dict[str, Use] = {
    "send": lambda agent: agent.send(ASK),
    "generate": lambda agent: _said(agent.generate(ASK)),
    "structured": lambda agent: _said(agent.structured(ASK, City)),
    "structured schema": lambda agent: _said(agent.structured_schema(ASK, SCHEMA)),
}


def _kept(agent: Any) -> Callable[[], Any]:
    generate: Any = agent.generate
    return lambda: _said(generate(ASK))


AGENT_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {"generate": _kept}


def prompt() -> Any:
    message = PromptMessage(role="user", content=TextContent(type="text", text=ASK))
    return GetPromptResult(messages=[message])


PROMPT_WAYS: dict[str, Use] = {"apply prompt": lambda agent: agent.apply_prompt(prompt())}
TEMPLATE_WAYS: dict[str, Use] = {
    "agent": lambda agent: agent.apply_prompt(prompt(), as_template=True),
    "model": lambda agent: agent.llm.apply_prompt_template(prompt(), "asked"),
}
TOOL_WAYS: dict[str, Use] = {
    "agent": lambda agent: agent.send(CALLED.format(name="look_up")),
    "call tool": lambda agent: agent.call_tool("look_up", {"query": "tea"}),
}
CHILD_WAYS: dict[str, Use] = {
    "agent": lambda agent: agent.send('***CALL_TOOL agent__finder {"message": "tea"}'),
    "call tool": lambda agent: agent.call_tool("agent__finder", {"message": "tea"}),
}
