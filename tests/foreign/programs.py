"""Small programs, each of a framework or client and what it calls, whose model asks for one tool and then answers."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import anthropic
import openai
from agents import Agent as OpenAIAgent
from agents import OpenAIResponsesModel, Runner, function_tool
from google.genai import Client as Google
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from mcp import Client as Mcp
from pydantic import SecretStr
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from spanhook.cli.conformance.servers import mcp_server
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.cli.conformance.subject import Body
from tests.applications.ledger import Json, Ledger, Turn

ASK = "What is 2 and 3?"
DONE: list[str] = []
"""What tools have done."""


def add(a: int, b: int) -> str:
    """Add two numbers."""
    DONE.append("add")
    return f"the sum is {a + b}"


async def consult(a: int, b: int) -> str:
    """Add two numbers, with the help of a tool of an MCP server."""
    async with Mcp(f"http://127.0.0.1:{_mcp_port()}/{mcp_server.named(Body())}") as session:
        await session.call_tool(mcp_server.TOOL, {"word": "zebra"})
    return add(a, b)


_ports: list[int] = []


def _mcp_port() -> int:
    if not _ports:
        _ports.append(mcp_server.http_port())
    return _ports[0]


def plays(body: Json) -> Turn:
    """The model: one tool, and then an answer."""
    if "the sum is" in json.dumps(body):
        return "It is 5."
    return [("consult" if "consult" in json.dumps(body.get("tools")) else "add", {"a": 2, "b": 3})]


def _langgraph(url: str, own: Any, tool: Any = add) -> None:
    model = ChatOpenAI(model="gpt-4o-mini", base_url=url, api_key=SecretStr("test"), max_retries=0)
    agent: Any = create_agent(model, [tool], name="adder")
    asyncio.run(agent.ainvoke({"messages": [{"role": "user", "content": ASK}]}))


def _pydantic_anthropic(url: str, own: Any) -> None:
    async def main() -> None:
        tracing: dict[str, Any] = {"open_telemetry": {"tracer_provider": own}} if own is not None else {}
        async with anthropic.AsyncAnthropic(base_url=url, api_key="test", max_retries=0, **tracing) as client:
            model = AnthropicModel("claude-haiku-4-5", provider=AnthropicProvider(anthropic_client=client))
            await PydanticAgent(model, tools=[add], name="adder").run(ASK)

    asyncio.run(main())


def _pydantic_openai(url: str, own: Any, tool: Any = add) -> None:
    async def main() -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key="test", max_retries=0) as client:
            model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=client))
            await PydanticAgent(model, tools=[tool], name="adder").run(ASK)

    asyncio.run(main())


def _openai_agents(url: str, own: Any, tool: Any = add) -> None:
    async def main() -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key="test", max_retries=0) as client:
            model = OpenAIResponsesModel("gpt-4o-mini", client)
            await Runner.run(OpenAIAgent(name="adder", model=model, tools=[function_tool(tool)]), ASK)

    asyncio.run(main())


def _google(url: str, own: Any) -> None:
    with Google(api_key="test", http_options={"base_url": url}) as client:
        client.models.generate_content(model="gemini-2.5-flash", contents=ASK, config={"tools": [add]})


def _anthropic(url: str, own: Any) -> None:
    tracing: Any = {"open_telemetry": {"tracer_provider": own}} if own is not None else {}
    with anthropic.Anthropic(base_url=url, api_key="test", max_retries=0, **tracing) as client:
        client.messages.create(model="claude-haiku-4-5", max_tokens=100, messages=[{"role": "user", "content": ASK}])


class Program(NamedTuple):
    """A program, the server of its provider, and the packages that others instrument for it, from the top."""

    run: Callable[[str, Any], None]
    server: type[OpenAIServer]
    above: str
    below: str

    def __call__(self, server: OpenAIServer, own: Any = None) -> Ledger:
        """Run it with a ledger of its own, which is returned; what traces itself does so with ``own``."""
        ledger = Ledger(plays)
        self.run(server.url_for(ledger), own)
        return ledger


def _with_mcp(run: Callable[[str, Any, Any], None]) -> Callable[[str, Any], None]:
    return lambda url, own: run(url, own, consult)


PROGRAMS: Mapping[str, Program] = {
    "LangGraph over OpenAI": Program(_langgraph, OpenAIServer, "langchain", "openai"),
    "Pydantic AI over Anthropic": Program(_pydantic_anthropic, AnthropicServer, "pydantic_ai", "anthropic"),
    "Pydantic AI over OpenAI": Program(_pydantic_openai, OpenAIServer, "pydantic_ai", "openai"),
    "OpenAI Agents over OpenAI": Program(_openai_agents, OpenAIServer, "openai_agents", "openai"),
    "Google Gen AI": Program(_google, GoogleServer, "google_genai", "google_genai"),
    "Anthropic": Program(_anthropic, AnthropicServer, "anthropic", "anthropic"),
    "MCP in LangGraph": Program(_with_mcp(_langgraph), OpenAIServer, "langchain", "mcp"),
    "MCP in Pydantic AI": Program(_with_mcp(_pydantic_openai), OpenAIServer, "pydantic_ai", "mcp"),
    "MCP in OpenAI Agents": Program(_with_mcp(_openai_agents), OpenAIServer, "openai_agents", "mcp"),
}
