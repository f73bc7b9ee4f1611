"""What is gated in Starlette, called as a server calls it, and what is not."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route

from spanhook.cli.conformance.servers.asgi_client import ask
from spanhook.cli.conformance.subject import Body, Subject, Ungated, Use

ASKED, SAID = "what is new", "nothing is new"
HEADER = "x-query"


def app_of(body: Body) -> Starlette:
    """An application with endpoints of every sort."""

    async def later(request: Request) -> PlainTextResponse:
        body.run(request.headers[HEADER])
        return PlainTextResponse(SAID)

    def plain(request: Request) -> PlainTextResponse:
        body.run(request.headers[HEADER])
        return PlainTextResponse(SAID)

    class Endpoint(HTTPEndpoint):
        async def post(self, request: Request) -> PlainTextResponse:
            return await later(request)

    async def streamed(request: Request) -> StreamingResponse:
        body.run(request.headers[HEADER])

        async def pieces() -> AsyncIterator[str]:
            for word in SAID.split():
                yield f"data: {word}\n\n"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    routes = [
        Route("/later", later, methods=["POST"]),
        Route("/plain", plain, methods=["POST"]),
        Route("/class", Endpoint),
        Route("/streamed", streamed, methods=["POST"]),
    ]
    return Starlette(routes=[*routes, Mount("/mounted", Starlette(routes=routes))])


def use(path: str) -> Use:
    """Sends a request to a path."""
    return lambda app: ask(app, path, headers={HEADER: ASKED})


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """An endpoint that is an ASGI application itself."""
    await PlainTextResponse(SAID)(scope, receive, send)


class Bare:
    """One that is an object."""

    def __init__(self, body: Body) -> None:
        self._body = body

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._body.run("")
        await bare(scope, receive, send)


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "starlette",
        "request",
        app_of,
        {name: use(f"/{name}") for name in ("later", "plain", "class", "mounted/later", "mounted/class")},
        {},
        said=SAID,
        asked=ASKED,
        raises=False,  # the client gets a response
    ),
    Subject("starlette, streamed", "request", app_of, {"streamed": use("/streamed")}, {}, asked=ASKED, raises=False),
)

UNGATED = (
    Ungated(
        "an endpoint that is an ASGI application itself",
        lambda body: Starlette(routes=[Route("/bare", Bare(body))]),
        use("/bare"),
    ),
    Ungated(
        "an application of another framework, mounted",
        lambda body: Starlette(routes=[Mount("/bare", Bare(body))]),
        use("/bare/"),
    ),
    Ungated("WebSockets"),
)
