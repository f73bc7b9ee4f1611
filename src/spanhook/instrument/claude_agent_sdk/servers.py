"""Servers of tools in this process: the program asks for their tools through the SDK.

What it has asked the gates about is not gated again; anything else is, here.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from spanhook.instrument.claude_agent_sdk.calls import Call, reason_of, stops
from spanhook.instrument.claude_agent_sdk.sessions import Session
from spanhook.instrument.claude_agent_sdk.tools import Use
from spanhook.instrument.in_process import sent
from spanhook.model import InnerCalls, exact_text

_CALL_ID = "claudecode/toolUseId"
Handle = Callable[..., Awaitable[Any]]


async def handled(session: Session, server: str, message: Any, handle: Handle) -> Any:
    """Answer a request of the program to a server."""
    if not isinstance(message, Mapping):
        return await handle(server, message)
    if message.get("method") == "notifications/cancelled":
        return await handle(server, _renamed(message, session.requests.get((server, _cancelled(message)))))
    if message.get("method") != "tools/call":
        return await handle(server, message)
    params: Mapping[str, Any] = message.get("params") or {}
    given: dict[str, Any] = dict(params.get("arguments") or {})
    call_id = str((params.get("_meta") or {}).get(_CALL_ID) or "")
    call = session.uses.calls.get(call_id)
    if call is None or call.given != given or not (call.answer is not None or (call.lasting and call.lasting.open)):
        name = exact_text(params.get("name"))
        use = Use(f"mcp__{server}__{name}", call_id, local=True)
        return await _gated(session, session.uses.call(use, call), given, server, message, handle)
    if call.answer is not None:
        return _result(message, call.answer)
    return await _served(session, call, server, message, handle)


async def _gated(
    session: Session, call: Call, given: dict[str, Any], server: str, message: Mapping[str, Any], handle: Handle
) -> Any:
    """Serve a call that the gates have not been asked about."""
    error = await call.begin(given)
    if error is not None:
        if stops(error):
            await session.stop(error)
        return _result(message, [_text(f"Tool call rejected: {reason_of(error)}")], failed=True)
    if call.answer is not None:
        return _result(message, call.answer)
    asked = {**message, "params": {**message["params"], "arguments": call.given}}
    said = await _served(session, call, server, asked, handle)
    told: Mapping[str, Any] = (said or {}).get("result") or {}
    result, error = await call.returned(told.get("content"))
    if error is not None and stops(error):
        await session.stop(error)
    changed = error is not None or result is not told.get("content")
    return _result(message, result, failed=error is not None) if changed else said


async def _served(session: Session, call: Call, server: str, message: Mapping[str, Any], handle: Handle) -> Any:
    """Let the server answer; what it does is part of the call."""
    record = call.lasting.record if call.lasting is not None else None
    if record is None or message.get("id") is None:
        return await handle(server, message)
    record.part(InnerCalls).passed_as = call.use.at_server
    key = server, message["id"]
    with sent(record) as request_id:
        session.requests[key] = request_id
        try:
            said = await handle(server, {**message, "id": request_id})
        finally:
            session.requests.pop(key, None)
    return {**said, "id": message["id"]} if isinstance(said, Mapping) else said


def _cancelled(message: Mapping[str, Any]) -> Any:
    return (message.get("params") or {}).get("requestId")


def _renamed(message: Mapping[str, Any], request_id: str | None) -> Mapping[str, Any]:
    """A cancellation of a request that has another id at the server."""
    if request_id is None:
        return message
    return {**message, "params": {**message["params"], "requestId": request_id}}


def _result(message: Mapping[str, Any], content: Any, *, failed: bool = False) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": {"content": content, "isError": failed}}


def _text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}
