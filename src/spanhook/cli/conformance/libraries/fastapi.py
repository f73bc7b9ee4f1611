"""What is gated in FastAPI, called as a server calls it, and what is not."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from fastapi import Depends, FastAPI, Header
from fastapi.responses import PlainTextResponse, StreamingResponse
from starlette.applications import Starlette
from starlette.routing import Mount

from spanhook.cli.conformance.libraries.starlette import ASKED, SAID, use
from spanhook.cli.conformance.subject import Body, Subject, Ungated


def _user() -> Iterator[str]:
    yield "ada"


User = Annotated[str, Depends(_user)]
Query = Annotated[str, Header(alias="x-query")]


def app_of(body: Body) -> Starlette:
    """An application with endpoints of every sort, as it is, and mounted."""
    app = FastAPI()

    @app.post("/later", response_class=PlainTextResponse)
    async def later(query: Query, user: User) -> str:
        body.run((query, user))
        return SAID

    @app.post("/plain", response_class=PlainTextResponse)
    def plain(query: Query, user: User) -> str:
        body.run((query, user))
        return SAID

    @app.post("/streamed")
    async def streamed(query: Query, user: User) -> StreamingResponse:
        body.run((query, user))

        async def pieces() -> AsyncIterator[str]:
            for word in SAID.split():
                yield f"data: {word}\n\n"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    return Starlette(routes=[Mount("/api", app)])


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "fastapi",
        "request",
        app_of,
        {name: use(f"/api/{name}") for name in ("later", "plain")},
        {},
        said=SAID,
        asked=ASKED,
        raises=False,  # the client gets a response
    ),
    Subject("fastapi, streamed", "request", app_of, {"streamed": use("/api/streamed")}, {}, asked=ASKED, raises=False),
)

UNGATED = (
    Ungated("requests that do not get past the dependencies: refused by these, or invalid"),
    Ungated("WebSockets"),
)
