"""Embeddings of Pydantic AI, in versions that have them."""

from importlib import import_module
from typing import Any

from pydantic_ai.providers.openai import OpenAIProvider

from spanhook.cli.conformance.libraries.openai import counting_into
from spanhook.cli.conformance.libraries.openai_scripts import client_of
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject

_embeddings: Any = import_module("pydantic_ai.embeddings")
_openai: Any = import_module("pydantic_ai.embeddings.openai")

ASKED = "the long way home"


def _model(body: Body) -> Any:
    provider = OpenAIProvider(openai_client=client_of(counting_into(body)))
    return _embeddings.Embedder(_openai.OpenAIEmbeddingModel("text-embedding-3-small", provider=provider))


async def _embed(embedder: Any) -> Any:
    result = await embedder.embed_documents([ASKED])
    return [list(one) for one in result.embeddings], result.usage.input_tokens, result.model_name


SUBJECTS = (
    Subject(
        "Pydantic AI's embeddings",
        "embeddings.create",
        _model,
        {"embed": _embed},
        {},
        asked=ASKED,
        faults=OVER_HTTP,
        slow=True,
    ),
)
