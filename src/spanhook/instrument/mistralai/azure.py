"""Mistral's models on Azure, through the copy of the SDK that is made for it."""

from typing import Any

from spanhook.instrument.layers import MISTRAL
from spanhook.instrument.mistralai.chat import MistralChat
from spanhook.instrument.mistralai.ocr import Ocr
from spanhook.instrument.speakeasy import SpeakeasyTransport, chooser
from spanhook.instrument.wire import Servers, adapted


def failed(message: str, response: Any, body: str) -> BaseException:
    from mistralai.azure.client.errors import SDKError

    return SDKError(message, response, body)


TRANSPORT = SpeakeasyTransport(Servers("azure.ai.inference", {"BaseSDK": "azure.ai.inference"}), failed)
CHAT = adapted(MistralChat(), TRANSPORT, MISTRAL)
choose = chooser({"/chat/completions": CHAT, "/ocr": adapted(Ocr(), TRANSPORT, MISTRAL)})
