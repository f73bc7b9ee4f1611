"""AWS's SDK for Amazon Bedrock: Converse, and models invoked with bodies of their own, streamed or not.

Clients of all other services pass: they are told apart by the operation's name.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point

_HERE = "spanhook.instrument.botocore"


class BotocoreInstrumentor(Instrumentor):
    """Points of ``botocore``."""

    library = "botocore"
    kinds = frozenset(("llm.call", "embeddings.create"))
    table = (
        Point(
            module="botocore.client",
            name="BaseClient._make_api_call",
            adapter=f"{_HERE}.calls:UNKNOWN",
            choose=f"{_HERE}.calls:choose",
        ),
    )
