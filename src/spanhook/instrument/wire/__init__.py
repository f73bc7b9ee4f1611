"""What SDKs that send JSON to a model share. No SDK is known here, and no API.

A ``Format`` says what the JSON of one API means, a ``Transport`` how one SDK carries it; ``adapted`` makes an adapter
of both.
"""

from spanhook.instrument.wire._estimate import estimate
from spanhook.instrument.wire._responses import ResponseTransport
from spanhook.instrument.wire._settled import bytes_of, settled
from spanhook.instrument.wire.api import adapted
from spanhook.instrument.wire.body import BodyChunks
from spanhook.instrument.wire.content import Content, Event, Payload
from spanhook.instrument.wire.describing import described
from spanhook.instrument.wire.format import ChunkLike, Format
from spanhook.instrument.wire.framing import LINES, SERVER_SENT, Form, Frames, FrameTexts, json_in
from spanhook.instrument.wire.http import HttpContent, answered, answered_with
from spanhook.instrument.wire.messages import (
    Kind,
    Part,
    Parts,
    Wire,
    by_prompt,
    decoded,
    encoded,
    finished,
    last_text,
    messages_in,
    one_prompt,
    rewrite,
    rewrite_objects,
    text_in,
)
from spanhook.instrument.wire.opened import HeldChunks, OpenedChunks, OpenedTexts
from spanhook.instrument.wire.paths import Paths
from spanhook.instrument.wire.reading import (
    Fields,
    as_reported,
    extra_of,
    fields_of,
    index_of,
    is_model,
    list_of,
    noted,
    plain,
    text_of,
)
from spanhook.instrument.wire.servers import Server, Servers
from spanhook.instrument.wire.transport import Transport
from spanhook.instrument.wire.unstreamed import Construct, NoChunks, Passing
from spanhook.instrument.wire.usage import UsagePlaces, bounded, counted, responses, usage_in_stream, usage_places

__all__ = [
    "LINES",
    "SERVER_SENT",
    "BodyChunks",
    "ChunkLike",
    "Construct",
    "Content",
    "Event",
    "Fields",
    "Form",
    "Format",
    "FrameTexts",
    "Frames",
    "HeldChunks",
    "HttpContent",
    "Kind",
    "NoChunks",
    "OpenedChunks",
    "OpenedTexts",
    "Part",
    "Parts",
    "Passing",
    "Paths",
    "Payload",
    "ResponseTransport",
    "Server",
    "Servers",
    "Transport",
    "UsagePlaces",
    "Wire",
    "adapted",
    "answered",
    "answered_with",
    "as_reported",
    "bounded",
    "by_prompt",
    "bytes_of",
    "counted",
    "decoded",
    "described",
    "encoded",
    "estimate",
    "extra_of",
    "fields_of",
    "finished",
    "index_of",
    "is_model",
    "json_in",
    "last_text",
    "list_of",
    "messages_in",
    "noted",
    "one_prompt",
    "plain",
    "responses",
    "rewrite",
    "rewrite_objects",
    "settled",
    "text_in",
    "text_of",
    "usage_in_stream",
    "usage_places",
]
