"""Servers of version 1: a request is answered by a handler, which is looked up by the request's type."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mcp import types
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.in_process import sender_of
from spanhook.instrument.layers import MCP_SERVER
from spanhook.instrument.mcp.calls import METHODS, Calls, Method, passed_on
from spanhook.instrument.mcp.calls import TOOL as TOOLS
from spanhook.instrument.mcp.client import Sent
from spanhook.instrument.mcp.failures import REFUSED
from spanhook.instrument.mcp.forms import HANDLED
from spanhook.instrument.mcp.requester import facts, over_http, whose
from spanhook.instrument.mcp.results import Schema, tool_refused
from spanhook.model import Adapter, Args, Arrival, Attributes, CallContext, Found, Kwargs

_MODELS: Mapping[str, type[Any]] = {
    "tools/call": types.CallToolResult,
    "resources/read": types.ReadResourceResult,
    "prompts/get": types.GetPromptResult,
}


class Served(NamedTuple):
    """A request that a handler is about to be called with.

    Attributes:
        server: The server.
        message: The request as it came in, with what belongs to it.
        session: The session that it belongs to.
    """

    server: Any
    message: Any
    session: Any

    @property
    def http(self) -> Any:
        """The HTTP request that it came with, if it did."""
        return getattr(self.message.message_metadata, "request_context", None)


def _about(instance: Served, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.JSONRPC_REQUEST_ID: str(instance.message.request_id)}
    http = instance.http
    session = http.headers.get("mcp-session-id") if http is not None else None
    if session:
        attributes[semconv.MCP_SESSION_ID] = session
    params = instance.session.client_params
    if params is not None:
        attributes[semconv.MCP_PROTOCOL_VERSION] = str(params.protocolVersion)
    attributes.update(over_http(http))
    return attributes


def _schema(instance: Served, name: str) -> Schema:
    tool = getattr(instance.server, "_tool_cache", {}).get(name)
    if tool is not None:
        return tool.outputSchema
    # The first request for a tool fills that cache, unless a hook answers it. What FastMCP registered knows them all.
    return getattr(_tool(instance, name), "output_schema", None)


def _tool(instance: Served, name: str) -> Any:
    """A tool of a FastMCP server."""
    handler = instance.server.request_handlers.get(types.CallToolRequest)
    for cell in getattr(handler, "__closure__", None) or ():
        tools = getattr(getattr(cell.cell_contents, "__self__", None), "_tool_manager", None)
        if tools is not None:
            return tools.get_tool(name)
    return None


def _identity(instance: Served, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    return whose(instance.http)


def _metadata(instance: Served, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    params = instance.session.client_params
    return facts(params and params.clientInfo, HANDLED.meta(args, kwargs), instance.http)


def arrival(instance: Served, args: Args, kwargs: Kwargs) -> Arrival:
    sent = instance.message.message_metadata
    held = sent.held if isinstance(sent, Sent) else sender_of(instance.message.request_id)
    return Arrival(HANDLED.meta(args, kwargs), held)


def _handler(method: Method) -> Adapter:
    model = _MODELS[method.name]

    def made(_instance: Served, _args: Args, _kwargs: Kwargs, told: dict[str, Any]) -> Any:
        result: Any = types.ServerResult
        return result(model.model_validate(told))

    def rejected(instance: Served, args: Args, kwargs: Kwargs, reason: str) -> Any:
        if not calls.tells(args, kwargs):
            return types.ErrorData(code=REFUSED, message=reason)
        return made(instance, args, kwargs, tool_refused(reason))

    calls = Calls(method=method, form=HANDLED, about=_about, made=made, schema=_schema, strict=True)
    return calls.adapter(
        MCP_SERVER,
        SpanKind.SERVER,
        "framework",
        tool=_tool if method is TOOLS else None,
        context=CallContext(identity=_identity, metadata=_metadata),
        rejected=rejected,
        traits=frozenset(("boundary",)),
    )


HANDLING = {name: _handler(method) for name, method in METHODS.items()}
PASSED_ON = {name: passed_on(adapter) for name, adapter in HANDLING.items()}


def find(instance: Any, args: Args, kwargs: Kwargs) -> Found | None:
    """The handler that a server of version 1 is about to call; ``None`` if its call is no operation."""
    message = args[0] if args else kwargs["message"]
    request = args[1] if len(args) > 1 else kwargs["req"]
    handling = HANDLING if sender_of(message.request_id) is None else PASSED_ON
    adapter = handling.get(getattr(request, "method", ""))
    if adapter is None:
        return None
    session = args[2] if len(args) > 2 else kwargs["session"]
    return Found(type(request), adapter, Served(instance, message, session))
