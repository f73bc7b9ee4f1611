"""Which of Mistral's APIs a call is, by the end of its path."""

from typing import Any

from spanhook.instrument.formats.openai import MAKES, Endpoint, Responses
from spanhook.instrument.layers import MISTRAL
from spanhook.instrument.mistralai.chat import MistralChat
from spanhook.instrument.mistralai.conversations import Conversations
from spanhook.instrument.mistralai.embeddings import MistralEmbeddings
from spanhook.instrument.mistralai.fim import Fim
from spanhook.instrument.mistralai.ocr import Ocr
from spanhook.instrument.mistralai.sound import Transcriptions
from spanhook.instrument.speakeasy import SpeakeasyTransport, chooser
from spanhook.instrument.wire import Servers, adapted


def failed(message: str, response: Any, body: str) -> BaseException:
    # Not at the top: this is loaded while the SDK is being imported.
    from mistralai.client.errors import SDKError

    return SDKError(message, response, body)


TRANSPORT = SpeakeasyTransport(Servers("mistral_ai", {}), failed)
_MODERATION = "moderation"
_FORMATS = {
    "/chat/completions": MistralChat(),
    "/agents/completions": MistralChat(),
    "/fim/completions": Fim(),
    "/embeddings": MistralEmbeddings(),
    "/conversations": Conversations(),
    "/conversations/*": Conversations(),
    "/conversations/*/restart": Conversations(),
    "/responses": Responses(),
    "/responses/input_tokens": Responses(counts=True),
    "/moderations": Endpoint(_MODERATION, "moderations", content="input"),
    "/chat/moderations": Endpoint(_MODERATION, "moderations", content="input"),
    "/classifications": Endpoint("classification", "classifications", content="input"),
    "/chat/classifications": Endpoint("classification", "classifications", content="input"),
    "/ocr": Ocr(),
    "/audio/transcriptions": Transcriptions(),
    "/audio/speech": Endpoint(MAKES, "audio.speech", "speech", "input", beside=("conversation_history",)),
    "/batch/jobs": Endpoint("batch", "batches"),
}
ADAPTERS = {path: adapted(one, TRANSPORT, MISTRAL) for path, one in _FORMATS.items()}
CHAT = ADAPTERS["/chat/completions"]
choose = chooser(ADAPTERS)
