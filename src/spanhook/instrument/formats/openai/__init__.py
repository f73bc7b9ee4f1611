"""OpenAI's APIs, which many providers speak: chat, responses, completions, embeddings, and other endpoints."""

from spanhook.instrument.formats.openai.chat import Chat
from spanhook.instrument.formats.openai.chat_chunks import ChatChunks, Growing
from spanhook.instrument.formats.openai.completions import Completions, TextChunks
from spanhook.instrument.formats.openai.decisions import Decisions
from spanhook.instrument.formats.openai.deltas import Deltas
from spanhook.instrument.formats.openai.embeddings import Embeddings
from spanhook.instrument.formats.openai.endpoints import MAKES, RUNS, Endpoint
from spanhook.instrument.formats.openai.items import last_text
from spanhook.instrument.formats.openai.items import rewrite as rewrite_items
from spanhook.instrument.formats.openai.items import to_message as item_message
from spanhook.instrument.formats.openai.items import to_messages as item_messages
from spanhook.instrument.formats.openai.messages import PARTS, system_of
from spanhook.instrument.formats.openai.messages import from_message as chat_wire
from spanhook.instrument.formats.openai.messages import to_message as chat_message
from spanhook.instrument.formats.openai.reading import RESPONSES_USAGE, completion_usage
from spanhook.instrument.formats.openai.response_events import response_events as events_of_response
from spanhook.instrument.formats.openai.responses import Responses, output_message
from spanhook.instrument.formats.openai.responses_chunks import ResponsesChunks
from spanhook.instrument.formats.openai.texts import RESPONSE_TEXTS, ChoiceTexts

__all__ = [
    "MAKES",
    "PARTS",
    "RESPONSES_USAGE",
    "RESPONSE_TEXTS",
    "RUNS",
    "Chat",
    "ChatChunks",
    "ChoiceTexts",
    "Completions",
    "Decisions",
    "Deltas",
    "Embeddings",
    "Endpoint",
    "Growing",
    "Responses",
    "ResponsesChunks",
    "TextChunks",
    "chat_message",
    "chat_wire",
    "completion_usage",
    "events_of_response",
    "item_message",
    "item_messages",
    "last_text",
    "output_message",
    "rewrite_items",
    "system_of",
]
