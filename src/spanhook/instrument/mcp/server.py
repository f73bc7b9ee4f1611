"""Servers of version 2: a request is answered by a ``ServerRunner``, through all middleware."""

from collections.abc import Mapping
from typing import Any

from mcp import types
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.in_process import sender_of
from spanhook.instrument.layers import MCP_SERVER
from spanhook.instrument.mcp.calls import METHODS, Calls, Method, passed_on
from spanhook.instrument.mcp.calls import TOOL as TOOLS
from spanhook.instrument.mcp.failures import REFUSED
from spanhook.instrument.mcp.forms import WIRE
from spanhook.instrument.mcp.requester import facts, over_http, whose
from spanhook.instrument.mcp.results import Schema, tool_refused
from spanhook.model import Adapter, Args, Arrival, Attributes, CallContext, Kwargs

_MODELS: Mapping[str, type[Any]] = {
    "tools/call": types.CallToolResult,
    "resources/read": types.ReadResourceResult,
    "prompts/get": types.GetPromptResult,
}


def _context(args: Args, kwargs: Kwargs) -> Any:
    return args[0] if args else kwargs["dctx"]


def _http_request(args: Args, kwargs: Kwargs) -> Any:
    """The HTTP request that the request came with, if it did."""
    return getattr(getattr(_context(args, kwargs), "message_metadata", None), "request_context", None)


def _about(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    connection = instance.connection
    attributes: Attributes = {semconv.MCP_PROTOCOL_VERSION: connection.protocol_version}
    if connection.session_id:
        attributes[semconv.MCP_SESSION_ID] = connection.session_id
    request_id = _context(args, kwargs).request_id
    if request_id is not None:
        attributes[semconv.JSONRPC_REQUEST_ID] = str(request_id)
    attributes.update(over_http(_http_request(args, kwargs)))
    return attributes


def _tool(instance: Any, name: str) -> Any:
    """A tool of a server that knows its tools; others look them up when they are asked."""
    handler = getattr(instance.server.get_request_handler("tools/call"), "handler", None)
    manager = getattr(getattr(handler, "__self__", None), "_tool_manager", None)
    return manager.get_tool(name) if manager is not None else None


def _schema(instance: Any, name: str) -> Schema:
    return getattr(_tool(instance, name), "output_schema", None)


def _identity(_instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    return whose(_http_request(args, kwargs))


def _metadata(instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    params = instance.connection.client_params
    return facts(params and params.client_info, WIRE.meta(args, kwargs), _http_request(args, kwargs))


def arrival(_instance: Any, args: Args, kwargs: Kwargs) -> Arrival:
    return Arrival(WIRE.meta(args, kwargs), sender_of(_context(args, kwargs).request_id))


def _onward(_instance: Any, args: Args, kwargs: Kwargs, carrier: Mapping[str, str]) -> tuple[Args, Kwargs]:
    """Put this operation's span into the request, from which the SDK's own span takes its parent, if there is one."""
    meta = WIRE.meta(args, kwargs)
    if "traceparent" not in meta or "traceparent" not in carrier:
        return args, kwargs
    return WIRE.with_params(args, kwargs, {**WIRE.params(args, kwargs), "_meta": {**meta, **carrier}})


def _server(method: Method) -> Adapter:
    model = _MODELS[method.name]

    def made(instance: Any, _args: Args, _kwargs: Kwargs, told: dict[str, Any]) -> Any:
        return instance._serialize(method.name, instance.connection.protocol_version, model.model_validate(told))

    def rejected(instance: Any, args: Args, kwargs: Kwargs, reason: str) -> Any:
        if not calls.tells(args, kwargs):
            from mcp.shared.exceptions import MCPError

            return MCPError(REFUSED, reason)
        return made(instance, args, kwargs, tool_refused(reason))

    calls = Calls(method=method, form=WIRE, about=_about, made=made, schema=_schema, strict=True)
    return calls.adapter(
        MCP_SERVER,
        SpanKind.SERVER,
        "framework",
        tool=_tool if method is TOOLS else None,
        onward=_onward,
        context=CallContext(identity=_identity, metadata=_metadata),
        rejected=rejected,
        traits=frozenset(("boundary",)),
    )


SERVING = {name: _server(method) for name, method in METHODS.items()}
PASSED_ON = {name: passed_on(adapter) for name, adapter in SERVING.items()}
TOOL = SERVING[TOOLS.name]


def choose(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a request that came in; ``None`` if it is no operation."""
    serving = SERVING if sender_of(_context(args, kwargs).request_id) is None else PASSED_ON
    return serving.get(args[1] if len(args) > 1 else kwargs["method"])
