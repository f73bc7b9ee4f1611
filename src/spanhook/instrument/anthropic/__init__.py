"""Anthropic's SDK, for Anthropic itself and the platforms that its clients support: messages, batches, tool runners."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.stainless import points_of
from spanhook.model import Point

_HERE = "spanhook.instrument.anthropic"
_TOOLS, _TOOLSETS = "anthropic.lib.tools._beta_functions", "anthropic.lib.tools._toolsets._runnable"


def _tool(name: str, module: str = _TOOLS, adapter: str = "TOOL") -> Point:
    return Point(
        module=module,
        name=f"{name}.call",
        adapter=f"{_HERE}.tools:{adapter}",
        mode="async" if "Async" in name else "sync",
        overrides=True,
        optional=module is _TOOLSETS,  # not in version 1
    )


class AnthropicInstrumentor(Instrumentor):
    """Points of ``anthropic``."""

    library = "anthropic"
    kinds = frozenset(("llm.call", "tool.execute"))
    table = (
        *points_of("anthropic", f"{_HERE}.apis:MESSAGES", f"{_HERE}.apis:choose"),
        _tool("BetaFunctionTool"),
        _tool("BetaAsyncFunctionTool"),
        _tool("BetaBuiltinFunctionTool"),
        _tool("BetaAsyncBuiltinFunctionTool"),
        _tool("BetaRunnableToolset", _TOOLSETS, "MEMBER"),
        _tool("BetaAsyncRunnableToolset", _TOOLSETS, "MEMBER"),
    )
