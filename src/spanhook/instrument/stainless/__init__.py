"""What the clients of OpenAI, Anthropic and others share: all are written by the same generator.

Their packages differ in model classes and wire formats. The transport, its options, raw responses, streams and parsers
are the same, and so is the code that reads and answers them. No such package is imported here.
"""

from spanhook.instrument.stainless._estimate import estimate
from spanhook.instrument.stainless._settled import settle
from spanhook.instrument.stainless.api import Api
from spanhook.instrument.stainless.body import BodyChunks
from spanhook.instrument.stainless.delivery import Event, Payload
from spanhook.instrument.stainless.describing import described
from spanhook.instrument.stainless.dialogue import Dialogue
from spanhook.instrument.stainless.messages import (
    Kind,
    Part,
    Parts,
    Wire,
    by_prompt,
    decoded,
    encoded,
    finished,
    messages_in,
    one_prompt,
    rewrite,
    text_in,
)
from spanhook.instrument.stainless.options import Body, body_of, is_raw, is_streamed, options_of, with_body
from spanhook.instrument.stainless.parsing import keep_what_is_parsed, parsing_failed
from spanhook.instrument.stainless.paths import Paths, chooser, whole
from spanhook.instrument.stainless.points import transport
from spanhook.instrument.stainless.reading import Fields, extra_of, fields_of, index_of, list_of, noted, plain, text_of
from spanhook.instrument.stainless.sdk import Sdk
from spanhook.instrument.stainless.servers import Servers
from spanhook.instrument.stainless.unstreamed import NoChunks, no_events
from spanhook.instrument.stainless.usage import bounded, counted, cut_short, responses

__all__ = [
    "Api",
    "Body",
    "BodyChunks",
    "Dialogue",
    "Event",
    "Fields",
    "Kind",
    "NoChunks",
    "Part",
    "Parts",
    "Paths",
    "Payload",
    "Sdk",
    "Servers",
    "Wire",
    "body_of",
    "bounded",
    "by_prompt",
    "chooser",
    "counted",
    "cut_short",
    "decoded",
    "described",
    "encoded",
    "estimate",
    "extra_of",
    "fields_of",
    "finished",
    "index_of",
    "is_raw",
    "is_streamed",
    "keep_what_is_parsed",
    "list_of",
    "messages_in",
    "no_events",
    "noted",
    "one_prompt",
    "options_of",
    "parsing_failed",
    "plain",
    "responses",
    "rewrite",
    "settle",
    "text_in",
    "text_of",
    "transport",
    "whole",
    "with_body",
]
