"""Mistral's models on Google Cloud, through the copy of the SDK that is made for it.

All its calls have the same paths, so the JSON tells what a call is.
"""

from typing import Any

from spanhook.instrument.layers import MISTRAL
from spanhook.instrument.mistralai.chat import MistralChat
from spanhook.instrument.mistralai.fim import Fim
from spanhook.instrument.speakeasy import SpeakeasyTransport, chooser, json_of, request_of
from spanhook.instrument.wire import Servers, adapted
from spanhook.model import Adapter, Args, Kwargs


def failed(message: str, response: Any, body: str) -> BaseException:
    from mistralai.gcp.client.errors import SDKError

    return SDKError(message, response, body)


TRANSPORT = SpeakeasyTransport(Servers("gcp.vertex_ai", {"BaseSDK": "gcp.vertex_ai"}), failed)
CHAT = adapted(MistralChat(), TRANSPORT, MISTRAL)
_FIM = adapted(Fim(), TRANSPORT, MISTRAL)
_called = chooser({"/rawpredict": CHAT, "/streamrawpredict": CHAT})


def choose(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` if it does not call a model."""
    adapter = _called(instance, args, kwargs)
    if adapter is None or "messages" in json_of(request_of(args, kwargs)):
        return adapter
    return _FIM
