"""Transcription of sound, which is sent as a form."""

from collections.abc import Iterator
from typing import Any

from spanhook.instrument.formats.openai import MAKES, Endpoint
from spanhook.instrument.mistralai.chat import NO_USAGE
from spanhook.instrument.wire import Event, Fields, Payload


class Transcriptions(Endpoint):
    """Transcriptions. Streams of text are held back as a whole, if hooks are to decide about them."""

    def __init__(self) -> None:
        super().__init__(MAKES, "audio.transcriptions", "text")

    def payload(self, body: Fields, value: Any) -> Payload:
        return {"language": None, "segments": [], "usage": NO_USAGE, **super().payload(body, value)}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        """The answer as a stream."""
        said = payload.get("text")
        yield "transcription.text.delta", {"type": "transcription.text.delta", "text": said}
        yield "transcription.done", {"type": "transcription.done", **payload}
