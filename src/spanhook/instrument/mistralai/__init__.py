"""Mistral's SDK: its own API, its models on Azure and on Google Cloud, and functions that it runs."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.speakeasy import points_of
from spanhook.model import Point

_HERE = "spanhook.instrument.mistralai"


class MistralInstrumentor(Instrumentor):
    """Points of ``mistralai``."""

    library = "mistralai"
    kinds = frozenset(("llm.call", "embeddings.create", "tool.execute"))
    table = (
        *points_of("mistralai.client.basesdk", f"{_HERE}.apis:CHAT", f"{_HERE}.apis:choose"),
        *points_of("mistralai.azure.client.basesdk", f"{_HERE}.azure:CHAT", f"{_HERE}.azure:choose", optional=True),
        *points_of("mistralai.gcp.client.basesdk", f"{_HERE}.gcp:CHAT", f"{_HERE}.gcp:choose", optional=True),
        Point(
            module="mistralai.extra.run.tools",  # needs the extra "agents"
            name="create_function_result",
            adapter=f"{_HERE}.tools:FUNCTION",
            mode="async",
            optional=True,
        ),
        Point(
            module="mistralai.extra.voice_agents.tools",  # not in version 2
            name="FunctionHandler.invoke",
            adapter=f"{_HERE}.tools:HANDLER",
            mode="async",
            overrides=True,
            optional=True,
        ),
    )
