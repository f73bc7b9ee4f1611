"""The measured work: local and deterministic, with a model that answers at once.

A workload is created after the process was set up, so its libraries are imported as in an application.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Operation = Callable[[], Any]
"""One unit of work; a coroutine function if the case is async."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One piece of work to be measured.

    Attributes:
        make: Creates the operation, as ``module:function`` in this package.
        needs: The import name of the library it needs.
        count: How many operations make one round.
        steps: Whether graphs with steps take part.
        hooks: Creates further hooks if the process is instrumented, as ``module:function``.
    """

    name: str
    about: str
    make: str
    needs: str
    count: int
    is_async: bool = False
    steps: bool = False
    hooks: str = ""

    @property
    def missing(self) -> str:
        """Why the case cannot be run here; empty if it can."""
        return "" if importlib.util.find_spec(self.needs) is not None else f"{self.needs} is not installed"

    def operation(self) -> Operation:
        return _call(self.make)

    def further_hooks(self) -> list[Any]:
        return [_call(self.hooks)] if self.hooks else []


def _call(path: str) -> Any:
    module, _, function = path.partition(":")
    return getattr(importlib.import_module(f"benchmarks.workloads.{module}"), function)()


_CASES = (
    Case(name="llm", about="LangChain chat model, invoke", make="models:invoke", needs="langchain_core", count=400),
    Case(
        name="llm_async",
        about="LangChain chat model, ainvoke",
        make="models:ainvoke",
        needs="langchain_core",
        count=400,
        is_async=True,
    ),
    Case(
        name="llm_stream",
        about="LangChain chat model, stream of 11 chunks",
        make="models:stream",
        needs="langchain_core",
        count=100,
    ),
    Case(
        name="llm_stream_async",
        about="LangChain chat model, async stream of 11 chunks",
        make="models:astream",
        needs="langchain_core",
        count=100,
        is_async=True,
    ),
    Case(name="tool", about="LangChain tool, invoke", make="models:tool_invoke", needs="langchain_core", count=400),
    Case(
        name="tool_async",
        about="LangChain tool, ainvoke",
        make="models:tool_ainvoke",
        needs="langchain_core",
        count=100,
        is_async=True,
    ),
    Case(name="own_tool", about="own function as a tool", make="own_code:tool_call", needs="spanhook", count=4_000),
    Case(name="own_block", about="own code in a block", make="own_code:block", needs="spanhook", count=4_000),
    Case(
        name="agent",
        about="LangGraph agent, 3 LLM and 2 tool calls",
        make="agents:invoke",
        needs="langgraph",
        count=40,
        steps=True,
    ),
    Case(
        name="agent_async",
        about="LangGraph agent, async, 3 LLM and 2 tool calls",
        make="agents:ainvoke",
        needs="langgraph",
        count=40,
        is_async=True,
        steps=True,
    ),
    Case(
        name="node", about="LangGraph graph of one node", make="agents:node", needs="langgraph", count=100, steps=True
    ),
    Case(
        name="openai_agents",
        about="OpenAI Agents SDK run, 3 LLM and 2 tool calls",
        make="openai_agents:arun",
        needs="agents",
        count=60,
        is_async=True,
    ),
    Case(
        name="pydantic_ai",
        about="Pydantic AI run, 3 LLM and 2 tool calls",
        make="pydantic_ai:arun",
        needs="pydantic_ai",
        count=40,
        is_async=True,
    ),
    Case(
        name="dspy",
        about="DSPy ReAct run, 4 LLM and 3 tool calls",
        make="dspy:react",
        needs="dspy",
        count=30,
    ),
    Case(
        name="fast_agent",
        about="fast-agent run, 3 LLM and 2 tool calls",
        make="fast_agent:arun",
        needs="fast_agent",
        count=40,
        is_async=True,
    ),
    Case(
        name="smolagents",
        about="smolagents run, 3 LLM and 2 tool calls",
        make="smolagents:run",
        needs="smolagents",
        count=20,
    ),
    Case(
        name="strands",
        about="Strands run, 3 LLM and 2 tool calls",
        make="strands:arun",
        needs="strands",
        count=40,
        is_async=True,
    ),
    Case(
        name="google_adk",
        about="Google ADK run, 3 LLM and 2 tool calls",
        make="google_adk:arun",
        needs="google.adk",
        count=20,
        is_async=True,
    ),
    Case(
        name="agent_framework",
        about="Agent Framework run, 3 LLM and 2 tool calls",
        make="agent_framework:arun",
        needs="agent_framework",
        count=40,
        is_async=True,
    ),
    Case(
        name="haystack",
        about="Haystack run, 3 LLM and 2 tool calls",
        make="haystack:arun",
        needs="haystack",
        count=40,
        is_async=True,
    ),
    Case(
        name="llama_index",
        about="LlamaIndex run, 3 LLM and 2 tool calls",
        make="llama_index:arun",
        needs="llama_index.core",
        count=20,
        is_async=True,
    ),
    Case(
        name="claude_agent_sdk",
        about="Claude Agent SDK turn, 3 LLM and 2 tool calls",
        make="claude_agent_sdk:turn",
        needs="claude_agent_sdk",
        count=10,
        is_async=True,
    ),
    Case(
        name="crewai",
        about="CrewAI crew, 3 LLM and 2 tool calls",
        make="crewai:kickoff",
        needs="crewai",
        count=10,
    ),
    Case(name="bedrock", about="Bedrock, Converse", make="bedrock:converse", needs="botocore", count=100),
    Case(name="litellm", about="LiteLLM completion", make="litellm:completion", needs="litellm", count=60),
    Case(name="gemini", about="Gemini content", make="google_genai:generate", needs="google.genai", count=100),
    Case(
        name="gemini_async",
        about="the same, async",
        make="google_genai:agenerate",
        needs="google.genai",
        count=100,
        is_async=True,
    ),
    Case(
        name="gemini_stream",
        about="Gemini content as a stream, 200 chunks",
        make="google_genai:stream",
        needs="google.genai",
        count=10,
    ),
    Case(name="chat", about="OpenAI chat completion", make="openai_chat:create", needs="openai", count=100),
    Case(
        name="chat_async",
        about="OpenAI chat completion, async",
        make="openai_chat:acreate",
        needs="openai",
        count=100,
        is_async=True,
    ),
    Case(name="stream", about="OpenAI chat stream, 200 chunks", make="openai_chat:stream", needs="openai", count=10),
    Case(
        name="stream_async",
        about="OpenAI chat stream, async, 200 chunks",
        make="openai_chat:astream",
        needs="openai",
        count=10,
        is_async=True,
    ),
    Case(name="anthropic", about="Anthropic message", make="anthropic_chat:create", needs="anthropic", count=100),
    Case(name="mcp", about="MCP tool, client and server", make="mcp:call", needs="mcp", count=100, is_async=True),
    Case(name="mistral", about="Mistral chat completion", make="mistral_chat:create", needs="mistralai", count=100),
    Case(name="cohere", about="Cohere chat", make="cohere_chat:create", needs="cohere", count=100),
)
_ENDURANCE = (
    Case(name="calls", about="model and tool calls", make="endurance:calls", needs="langchain_core", count=10_000),
    Case(
        name="streams",
        about="streams; half of them dropped or closed early",
        make="endurance:streams",
        needs="langchain_core",
        count=10_000,
    ),
    Case(
        name="failures",
        about="failed calls, cut streams, rejected tools",
        make="endurance:failures",
        needs="langchain_core",
        count=10_000,
        hooks="endurance:rejecting",
    ),
    Case(name="runs", about="agent runs", make="agents:invoke", needs="langgraph", count=2_000),
)
CASES = {case.name: case for case in _CASES}
"""Cases whose CPU per operation is measured; ``count`` operations make one round."""
ENDURANCE = {case.name: case for case in _ENDURANCE}
"""Cases that are repeated ``count`` times to see whether memory grows."""
