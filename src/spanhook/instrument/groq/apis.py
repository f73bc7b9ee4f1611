"""Which of Groq's APIs a call is, by the end of its path, and how its SDK carries it."""

from spanhook.instrument.formats.openai import MAKES, Embeddings, Endpoint
from spanhook.instrument.groq.chat import GroqChat
from spanhook.instrument.layers import GROQ
from spanhook.instrument.stainless import StainlessTransport, chooser
from spanhook.instrument.wire import Servers, adapted

TRANSPORT = StainlessTransport("groq", Servers("groq", {}))
_FORMATS = {
    "/chat/completions": GroqChat(),
    "/embeddings": Embeddings(),
    "/audio/speech": Endpoint(MAKES, "audio.speech", "speech", "input"),
    "/audio/transcriptions": Endpoint(MAKES, "audio.transcriptions", "text", "prompt"),
    "/audio/translations": Endpoint(MAKES, "audio.translations", "text", "prompt"),
    "/batches": Endpoint("batch", "batches"),
}
ADAPTERS = {path: adapted(one, TRANSPORT, GROQ) for path, one in _FORMATS.items()}
CHAT = ADAPTERS["/chat/completions"]
choose = chooser(ADAPTERS)
