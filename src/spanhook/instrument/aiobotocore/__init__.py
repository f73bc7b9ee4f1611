"""aiobotocore, AWS's SDK for asyncio, for Amazon Bedrock: what is sent and what returns is botocore's."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point

_HERE = "spanhook.instrument.aiobotocore"


class AiobotocoreInstrumentor(Instrumentor):
    """Points of ``aiobotocore``."""

    library = "aiobotocore"
    kinds = frozenset(("llm.call", "embeddings.create"))
    table = (
        Point(
            module="aiobotocore.client",
            name="AioBaseClient._make_api_call",
            adapter=f"{_HERE}.calls:UNKNOWN",
            choose=f"{_HERE}.calls:choose",
            mode="async",
        ),
    )
