"""Haystack: agents, pipelines, chat generators, tools.

Chat generators have a protocol in common, but no base class. So they are gated where they are defined, in every
component class that follows it, whoever calls them: agents, pipelines, other components, the application itself.
"""

from spanhook.instrument.haystack.control import control
from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.layers import HAYSTACK_MODEL
from spanhook.model import Attempts, Block, MetaPoint, Point

_HERE = "spanhook.instrument.haystack"


def _point(place: str, adapter: str, choose: str = "", *, mode: str = "sync", optional: bool = False) -> Point:
    """A method; ``place`` is ``module:Class.method``."""
    module, _, name = place.partition(":")
    return Point(
        module=f"haystack.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides=True,
        optional=optional,
    )


def _model(name: str, mode: str) -> MetaPoint:
    return MetaPoint(
        module="haystack.core.component.component",
        name=f"ComponentMeta.{name}",
        adapter=f"{_HERE}.models:MODEL",
        choose=f"{_HERE}.models:chosen",
        picks=f"{_HERE}.classes:takes_messages",
        mode=mode,
    )


def _attempts(name: str) -> Attempts:
    module = "haystack.components.generators.chat.fallback"
    return Attempts(module=module, name=f"FallbackChatGenerator.{name}", layer=HAYSTACK_MODEL)


_PIPELINE = "core.pipeline.pipeline:Pipeline"
_ASYNC = "core.pipeline.async_pipeline:AsyncPipeline"
"""A class of its own before version 3."""


class HaystackInstrumentor(Instrumentor):
    """Points of ``haystack-ai``."""

    library = "haystack"
    kinds = frozenset(("agent.invoke", "llm.call", "run", "tool.execute"))
    control = staticmethod(control)
    table = (
        _model("run", "sync"),
        _model("run_async", "async"),
        _attempts("run"),
        _attempts("run_async"),
        _point("components.agents.agent:Agent.run", "runs:RUN", "runs:chosen"),
        _point("components.agents.agent:Agent.run_async", "runs:RUN", "runs:chosen", mode="async"),
        Block(
            module="haystack.core.errors",
            name="PipelineRuntimeError.from_exception",
            adapter=f"{_HERE}.pipelines:PIPELINE",
            drive=f"{_HERE}.refusals:of_component",
        ),
        _point("tools.tool:Tool.invoke", "tools:TOOL"),
        _point("tools.tool:Tool.invoke_async", "tools:TOOL", mode="async", optional=True),
        _point(f"{_PIPELINE}.run", "pipelines:PIPELINE", "pipelines:chosen"),
        *(
            point
            for place in (_PIPELINE, _ASYNC)
            for point in (
                _point(f"{place}.run_async", "pipelines:PIPELINE", "pipelines:chosen", mode="async", optional=True),
                _point(
                    f"{place}.run_async_generator",
                    "pipelines:PIPELINE",
                    "pipelines:chosen",
                    mode="astream",
                    optional=True,
                ),
            )
        ),
    )
