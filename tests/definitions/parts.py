"""What the tests of definitions are made of."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from spanhook.definitions import HookContext

Execute = Callable[..., Any]
ACME = "tests.definitions.acme_hooks"


class Middleware:
    """Middleware that is one function."""

    def __init__(self, execute: Execute, event_type: str = "tool.execute.pre", **settings: Any) -> None:
        self.execute, self.event_type = execute, event_type
        self.name = getattr(execute, "__name__", "middleware")
        self.__dict__.update(settings)


def noting(log: list[str], name: str) -> Execute:
    """Notes when it runs and when what follows it has run."""

    async def execute(context: HookContext, call_next: Callable[[Any], Awaitable[Any]]) -> HookContext:
        log.append(f"{name} in")
        context = await call_next(context)
        log.append(f"{name} out")
        return context

    return execute


def search(log: list[str]) -> BaseTool:
    """A LangChain tool, sync and async."""

    def search(query: str) -> str:
        """Search."""
        log.append(f"search {query}")
        return f"found {query}"

    async def asearch(query: str) -> str:
        return search(query)

    return StructuredTool.from_function(search, asearch)


def call(query: str = "x") -> dict[str, Any]:
    """What an agent's loop calls the tool with."""
    return {"type": "tool_call", "id": "call_1", "name": "search", "args": {"query": query}}


def definition(**fields: Any) -> dict[str, Any]:
    """Fields of a definition."""
    return {"name": "suffix", "event_type": "tool.execute.pre", "handler_ref": f"{ACME}:Suffix", **fields}
