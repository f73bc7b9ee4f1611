"""Clients: the methods that an application calls, and ``send_request``, which all of them end in."""

from collections.abc import Mapping
from typing import Any

from mcp import types
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.layers import MCP_CLIENT
from spanhook.instrument.mcp.calls import METHODS, PROMPT, RESOURCE, TOOL, Calls, Method
from spanhook.instrument.mcp.forms import PROMPT_CALL, RESOURCE_CALL, SENT, TOOL_CALL, Form
from spanhook.instrument.mcp.results import Schema
from spanhook.instrument.mcp.versions import FIRST
from spanhook.model import Adapter, Args, Attributes, Kwargs, current

_RESULTS: Mapping[str, type[Any]] = {
    TOOL.name: types.CallToolResult,
    RESOURCE.name: types.ReadResourceResult,
    PROMPT.name: types.GetPromptResult,
}


class Sent:
    """What was current where version 1 sent a request. A transport within the process passes it on with the request;
    others do not look at it.
    """

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def _session(instance: Any) -> Any:
    """The session of a client, if it has one by now."""
    return instance if hasattr(instance, "send_request") else getattr(instance, "_session", None)


def _schema(instance: Any, name: str) -> Schema:
    return getattr(_session(instance), "_tool_output_schemas", {}).get(name)


def _about(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    version = getattr(_session(instance), "protocol_version", None)
    return {semconv.MCP_PROTOCOL_VERSION: version} if isinstance(version, str) else {}


def _calls(method: Method, form: Form) -> Calls:
    result = _RESULTS[method.name]

    def made(_instance: Any, args: Args, kwargs: Kwargs, told: dict[str, Any]) -> Any:
        asked: Any = (args[1] if len(args) > 1 else kwargs.get("result_type")) if form is SENT else None
        special = isinstance(asked, type) and not issubclass(result, asked)  # such as a task, or the caller's own class
        return (asked if special else result).model_validate(told)

    return Calls(method=method, form=form, about=_about, made=made, schema=_schema)


def _onward(_instance: Any, args: Args, kwargs: Kwargs, carrier: Mapping[str, str]) -> tuple[Args, Kwargs]:
    """Add the trace context to the request, and what is current to what the transport gets. Version 2 does both."""
    if carrier:
        params = SENT.request(args, kwargs).params
        meta = params.meta
        made: Any = types.RequestParams
        told = made.Meta(**carrier) if meta is None else meta.model_copy(update=dict(carrier))
        args, kwargs = SENT.with_params(args, kwargs, {"meta": told})
    if len(args) < 4 and kwargs.get("metadata") is None:
        kwargs = {**kwargs, "metadata": Sent(current.get())}
    return args, kwargs


def _called(method: Method, form: Form) -> Adapter:
    return _calls(method, form).adapter(MCP_CLIENT, SpanKind.CLIENT, "relay")


def _sent(method: Method) -> Adapter:
    return _calls(method, SENT).adapter(MCP_CLIENT, SpanKind.CLIENT, onward=_onward if FIRST else None)


CALL_TOOL = _called(TOOL, TOOL_CALL)
READ_RESOURCE = _called(RESOURCE, RESOURCE_CALL)
GET_PROMPT = _called(PROMPT, PROMPT_CALL)
SEND_TOOL = _sent(TOOL)
SENDING = {name: SEND_TOOL if name == TOOL.name else _sent(method) for name, method in METHODS.items()}


def choose(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a request that is about to be sent; ``None`` if it is no operation."""
    return SENDING.get(SENT.request(args, kwargs).method)
