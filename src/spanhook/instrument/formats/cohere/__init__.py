"""Cohere's APIs: chat of both versions, generation, embeddings, reranking, classification."""

from spanhook.instrument.formats.cohere.chat import Chat
from spanhook.instrument.formats.cohere.chat_v1 import ChatV1
from spanhook.instrument.formats.cohere.embed import Embed
from spanhook.instrument.formats.cohere.endpoints import Endpoint, Parse, Rerank, Sound
from spanhook.instrument.formats.cohere.generate import Generate

__all__ = ["Chat", "ChatV1", "Embed", "Endpoint", "Generate", "Parse", "Rerank", "Sound"]
