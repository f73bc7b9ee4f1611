"""OpenAI's SDK, including other providers used through it: its APIs for models, and its tool runners."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.stainless import points_of
from spanhook.model import Held, Point

_HERE = "spanhook.instrument.openai"


def _tool(module: str, name: str, adapter: str) -> Point:
    return Point(
        module=f"openai.lib.{module}",
        name=name,
        adapter=f"{_HERE}.tools:{adapter}",
        mode="async" if name.startswith("Async") else "sync",
        optional=True,  # only in newer versions
    )


class OpenAIInstrumentor(Instrumentor):
    """Points of ``openai``."""

    library = "openai"
    kinds = frozenset(("llm.call", "embeddings.create", "tool.execute"))
    table = (
        *points_of("openai", f"{_HERE}.paths:CHAT", f"{_HERE}.paths:choose"),
        _tool("responses_tool_runner", "ResponsesToolRunner._execute_function", "FUNCTION"),
        _tool("responses_tool_runner", "AsyncResponsesToolRunner._execute_function", "FUNCTION"),
        _tool("computer", "ComputerToolset._dispatch", "COMPUTER"),
        _tool("computer", "AsyncComputerToolset._dispatch", "COMPUTER"),
        _tool("browser", "BrowserToolset._dispatch", "BROWSER"),
        _tool("browser", "AsyncBrowserToolset._dispatch", "BROWSER"),
        Held(
            module="openai.lib.decisions_tool_runner",
            name="_Candidate.execute",
            adapter=f"{_HERE}.tools:DECISION",
            awaited=False,
            optional=True,
        ),
        _tool("streaming.agents._tools", "ToolInvocation.invoke", "AGENT"),
    )
