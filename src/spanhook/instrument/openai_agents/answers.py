"""Hooks' answers in the SDK's own types: a ``ModelResponse``, or the events of a response's stream."""

from collections.abc import Iterator
from typing import Any

from agents.items import ModelResponse
from agents.usage import Usage
from openai._models import construct_type
from openai.types.responses import Response, ResponseStreamEvent

from spanhook.instrument.formats.openai import Responses, events_of_response
from spanhook.instrument.openai_agents.reading import FAKE_ID
from spanhook.instrument.wire import Payload, plain
from spanhook.model import copied_dataclass, copies

copies(ModelResponse)(copied_dataclass)

_RESPONSES = Responses()
_MADE_UP = ("msg_spanhook", "item_spanhook", "resp_spanhook")
"""The beginnings of ids that spanhook gives. The SDK would send them to OpenAI, which does not know them."""


def model_response(model: str, value: Any) -> ModelResponse:
    """What a model would have returned.

    Args:
        model: Its name.
        value: Text, a ``ModelResponse``, a response of OpenAI's, or messages in role/parts form.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(value, ModelResponse):
        return value
    payload = _payload(model, value)
    response: Any = construct_type(type_=Response, value=payload)
    told, usage = payload.get("usage") or {}, Usage()
    if told:
        usage = Usage(
            requests=1,
            input_tokens=told.get("input_tokens") or 0,
            output_tokens=told.get("output_tokens") or 0,
            total_tokens=told.get("total_tokens") or 0,
        )
    identifier = payload["id"] if payload["id"] != FAKE_ID else None
    return ModelResponse(output=response.output, usage=usage, response_id=identifier)


def response_events(model: str, value: Any) -> Iterator[Any]:
    """What a model's stream would have yielded; arguments as for ``model_response``."""
    for _, data in events_of_response(_payload(model, value)):
        yield construct_type(type_=ResponseStreamEvent, value=data)


def _payload(model: str, value: Any) -> Payload:
    if isinstance(value, ModelResponse):
        output = [item if isinstance(item, dict) else item.to_dict(mode="json") for item in value.output]
        value = {"id": value.response_id or FAKE_ID, "output": output}
    elif hasattr(value, "to_dict"):
        value = plain(value)
    payload = _RESPONSES.payload({"model": model}, value)
    return {**_unidentified(payload), "output": [_unidentified(item) for item in payload["output"]]}


def _unidentified(told: Payload) -> Payload:
    """An answer or an item of one, without an id that spanhook gave it."""
    return {**told, "id": FAKE_ID} if str(told.get("id") or "").startswith(_MADE_UP) else told
