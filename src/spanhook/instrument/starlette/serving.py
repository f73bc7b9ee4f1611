"""Serves a request: inside everything that Starlette does before an endpoint is called."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isfunction
from typing import Any, cast

import starlette
from starlette.requests import HTTPConnection, Request

from spanhook.errors import Reject
from spanhook.instrument.starlette.exchange import KEY, Answered, Exchange, Message, Receive, Send
from spanhook.instrument.starlette.incoming import Scope
from spanhook.instrument.starlette.requests import REQUESTS, Refusal, Requests, refusal
from spanhook.model import Args, Kwargs, Opening

_FASTAPI = "fastapi.routing"
"""Where FastAPI makes applications of its endpoints; those are late."""

ANSWERS_HANDSHAKES = int(starlette.__version__.partition(".")[0]) > 0

App = Callable[[Scope, Receive, Send], Awaitable[None]]


def endpoint(opening: Opening, wrapped: Callable[..., App], _instance: Any, args: Args, kwargs: Kwargs) -> App:
    """In place of what makes an application that handles exceptions: with the operation inside of it, if it is that of
    an endpoint.
    """
    return served(opening, REQUESTS, wrapped, args, kwargs)


def served(
    opening: Opening,
    requests: Requests,
    wrapped: Callable[..., App],
    args: Args,
    kwargs: Kwargs,
    *,
    late: bool = False,
) -> App:
    """``endpoint`` for the endpoints of a framework.

    Args:
        opening: Opens operations.
        requests: How requests read.
        wrapped, args, kwargs: The call.
        late: Whether its endpoints run the gates themselves, once they know more.
    """
    app, conn = args
    if not _is_endpoint(app, conn.scope):
        return _around(wrapped, args, kwargs)
    if not isinstance(conn, Request) or (app.__module__ == _FASTAPI) is not late:
        return wrapped(*args, **kwargs)

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        if not opening.hooked:
            await refusing(app, requests.make, scope, receive, send)
            return
        exchange = Exchange(opening, requests, scope, receive, send)
        # The application has made its request object of what the server gave.
        conn._receive = exchange.receive
        await serve(exchange, lambda: app(scope, exchange.receive, exchange.send), late=late)

    return wrapped(inside, conn, **kwargs)


def _is_endpoint(app: Any, scope: Scope) -> bool:
    """Whether it is a function that calls an endpoint, of whatever module: some servers have their own.

    Middleware handles exceptions in the same way, of the rest of the application.
    """
    return isfunction(app) and "endpoint" in scope


async def dispatch(
    opening: Opening, wrapped: Callable[[], Awaitable[None]], instance: Any, _args: Args, _kwargs: Kwargs
) -> None:
    """In place of the method with which an endpoint that is a class serves a request."""
    if not opening.hooked:

        async def app(_scope: Scope, receive: Receive, send: Send) -> None:
            instance.receive, instance.send = receive, send
            await wrapped()

        await refusing(app, REQUESTS.make, instance.scope, instance.receive, instance.send)
        return
    exchange = Exchange(opening, REQUESTS, instance.scope, instance.receive, instance.send)
    instance.receive, instance.send = exchange.receive, exchange.send
    await serve(exchange, wrapped, late=False)


def _around(wrapped: Callable[..., App], args: Args, kwargs: Kwargs) -> App:
    """``served`` for other applications, such as all that is inside the application's middleware: endpoints that are
    applications themselves, mounts, the middleware of routes, and WebSockets that are not accepted yet.
    """
    app, conn = args
    if not _has_response(conn):
        return wrapped(*args, **kwargs)

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        await refusing(app, REQUESTS.make, scope, receive, send)

    return wrapped(inside, conn, **kwargs)


def _has_response(conn: HTTPConnection) -> bool:
    """Whether a response can be sent: in a handshake, by the server and by Starlette, which drops it before 1.0."""
    if isinstance(conn, Request):
        return True
    return ANSWERS_HANDSHAKES and "websocket.http.response" in (conn.scope.get("extensions") or ())


async def refusing(app: App, make: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a request that is not an operation: a rejection that is let out becomes a response."""
    started = False

    async def sending(message: Message) -> None:
        nonlocal started
        started = True
        await send(message)

    try:
        await app(scope, receive, sending)
    except Exception as error:
        raised = error if started else _answer_for(error, scope, make)
        if raised is error:
            raise
        raise raised from error


async def serve(exchange: Exchange, app: Callable[[], Awaitable[None]], *, late: bool) -> None:
    """Serve one request as an operation.

    Args:
        exchange: The request.
        app: Serves it.
        late: Whether that runs the gates itself.
    """
    scope = exchange.scope
    if scope.get(KEY) is not None:  # an endpoint that passes it on to another: counted once
        await app()
        return
    scope[KEY] = exchange
    try:
        await _served(exchange, app, late=late)
    finally:
        scope.pop(KEY, None)  # it refers to its scope; and what serves a request again serves another


async def _served(exchange: Exchange, app: Callable[[], Awaitable[None]], *, late: bool) -> None:
    try:
        await exchange.read()
        if not late:
            await exchange.enter()
        await app()
    except Answered:
        return
    except BaseException as error:
        raised = await _left(exchange, error)
        answer = raised if exchange.started else _answer_for(raised, exchange.scope, exchange.requests.make)
        if answer is not raised:
            raise answer from raised
        if raised is error:
            raise
        raise raised from None
    await exchange.leave()


async def _left(exchange: Exchange, error: BaseException) -> BaseException:
    """End the operation with an error; returns what is raised for it."""
    try:
        await exchange.leave(error)
    except BaseException as raised:
        return raised
    return error


def _answer_for(error: BaseException, scope: Scope, make: Refusal) -> BaseException:
    """What becomes a response in place of a rejection, or of a group of nothing but rejections; otherwise the error."""
    reject = _only_rejection(error)
    if reject is None or (error is not reject and not _is_unknown(error, scope)):
        return error
    return refusal(reject, make) if _is_unknown(reject, scope) else reject


def _only_rejection(error: BaseException) -> Reject | None:
    """The first rejection of an exception that has nothing else in it, such as that of a task group."""
    if isinstance(error, BaseExceptionGroup):
        found = [_only_rejection(one) for one in cast("BaseExceptionGroup[BaseException]", error).exceptions]
        return found[0] if all(found) else None
    return error if isinstance(error, Reject) else None


def _is_unknown(error: BaseException, scope: Scope) -> bool:
    """Whether nothing in the application turns an exception into a response."""
    known: Any = scope.get("starlette.exception_handlers")
    handlers: Mapping[Any, Any] = known[0] if known else {}
    return not any(cls in handlers for cls in type(error).__mro__ if cls not in (Exception, object))
