"""What the wrapped functions of the SDK do: a session of ours accompanies each of its ``Query`` objects."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from spanhook.instrument.claude_agent_sdk.callbacks import with_ours, with_permission
from spanhook.instrument.claude_agent_sdk.refused import Refused
from spanhook.instrument.claude_agent_sdk.servers import handled
from spanhook.instrument.claude_agent_sdk.sessions import Session, session_of, streaming
from spanhook.instrument.claude_agent_sdk.signatures import CREATED, HANDLED
from spanhook.instrument.claude_agent_sdk.transports import accompanied
from spanhook.model import Args, Kwargs, Opening


def created(opening: Opening, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> None:
    """Create a ``Query`` whose transport is accompanied by a session, and whose hooks are joined by ours."""
    transport = CREATED.given(args, kwargs, "transport")
    session = Session(opening, getattr(transport, "_options", None))
    asks = CREATED.given(args, kwargs, "can_use_tool")
    args, kwargs = CREATED.having(
        args,
        kwargs,
        transport=accompanied(transport, session),
        hooks=with_ours(CREATED.given(args, kwargs, "hooks"), session),
        can_use_tool=asks if asks is None else with_permission(asks, session),
    )
    wrapped(*args, **kwargs)
    session.join(instance)


async def received(
    _opening: Opening, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs
) -> AsyncIterator[Any]:
    """The messages that the application gets; a refusal is raised where the result of the turn would have come."""
    messages, session = wrapped(*args, **kwargs), session_of(instance)
    try:
        async for message in messages:
            if isinstance(message, Refused):
                raise message.error
            yield message
    except BaseException as error:
        if session is not None and not isinstance(error, Exception):
            session.consumer_left(error)
        raise
    finally:
        await messages.aclose()


async def asked_here(
    _opening: Opening, wrapped: Callable[..., Awaitable[Any]], instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """Answer a request of the program to a server in this process."""
    session = session_of(instance)
    if session is None:
        return await wrapped(*args, **kwargs)
    server, message = HANDLED.given(args, kwargs, "server_name"), HANDLED.given(args, kwargs, "message")
    return await handled(session, server, message, wrapped)


async def streamed(
    _opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """Write the prompts of a stream, which happens in a task of its own."""
    token = streaming.set(True)
    try:
        await wrapped(*args, **kwargs)
    finally:
        streaming.reset(token)
