"""Ways of calling OpenAI for images, sound, videos and moderation; each takes a client, sync or async."""

import warnings
from collections.abc import Callable
from typing import Any

from openai import OpenAI

SOUND = ("a.mp3", b"sound")
PICTURE = ("a.png", b"picture")
ASKED = "a red circle"

Ask = Callable[[Any], Any]
"""Makes a call with a client; async clients return an awaitable."""


def _drained(made: Any) -> Any:
    """The result of a call, read to its end."""
    if hasattr(made, "__await__"):

        async def wait() -> Any:
            result = await made
            return [one async for one in result] if hasattr(result, "__aiter__") else result

        return wait()
    return list(made) if hasattr(made, "__next__") else made


def _then(made: Any, read: Callable[[Any], Any]) -> Any:
    """What ``read`` returns for the result of a call."""
    if hasattr(made, "__await__"):

        async def wait() -> Any:
            return read(await made)

        return wait()
    return read(made)


def _streaming(manager: Any) -> Any:
    """The body of a raw response, read in pieces."""
    if hasattr(manager, "__aenter__"):

        async def wait() -> bytes:
            async with manager as response:
                return b"".join([piece async for piece in response.iter_bytes()])

        return wait()
    with manager as response:
        return b"".join(response.iter_bytes())


def _quietly(ask: Ask) -> Ask:
    """Suppresses the SDK's deprecation warning."""

    def quiet(client: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return ask(client)

    return quiet


IMAGES: dict[str, Ask] = {
    "generate": lambda client: client.images.generate(model="gpt-image-1", prompt=ASKED),
    "generate stream": lambda client: _drained(
        client.images.generate(model="gpt-image-1", prompt=ASKED, stream=True, partial_images=1)
    ),
    "edit": lambda client: client.images.edit(model="gpt-image-1", image=PICTURE, prompt=ASKED),
    "raw generate": lambda client: _then(
        client.images.with_raw_response.generate(model="gpt-image-1", prompt=ASKED), lambda raw: raw.parse()
    ),
}
SOUNDS: dict[str, Ask] = {
    "speech": lambda client: _then(
        client.audio.speech.create(model="tts-1", voice="alloy", input=ASKED), lambda sound: sound.content
    ),
    "speech streaming": lambda client: _streaming(
        client.audio.speech.with_streaming_response.create(model="tts-1", voice="alloy", input=ASKED)
    ),
    "transcription": lambda client: client.audio.transcriptions.create(
        model="gpt-4o-transcribe", file=SOUND, prompt=ASKED
    ),
    "transcription stream": lambda client: _drained(
        client.audio.transcriptions.create(model="gpt-4o-transcribe", file=SOUND, prompt=ASKED, stream=True)
    ),
    "transcription as text": lambda client: client.audio.transcriptions.create(
        model="whisper-1", file=SOUND, prompt=ASKED, response_format="text"
    ),
    "translation": _quietly(
        lambda client: client.audio.translations.create(model="whisper-1", file=SOUND, prompt=ASKED)
    ),
}
MODERATIONS: dict[str, Ask] = {
    "text": lambda client: client.moderations.create(model="omni-moderation-latest", input=ASKED),
    "texts": lambda client: client.moderations.create(model="omni-moderation-latest", input=[ASKED, ASKED]),
    "parts": lambda client: client.moderations.create(
        model="omni-moderation-latest",
        input=[{"type": "text", "text": ASKED}, {"type": "image_url", "image_url": {"url": "data:,x"}}],
    ),
}
_VIDEOS: dict[str, Ask] = {
    "create": _quietly(lambda client: client.videos.create(model="sora-2", prompt=ASKED)),
    "remix": _quietly(lambda client: client.videos.remix("video_1", prompt=ASKED)),
}
VIDEOS = _VIDEOS if hasattr(OpenAI, "videos") else {}  # not in version 1
