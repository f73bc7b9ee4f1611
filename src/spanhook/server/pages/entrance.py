"""The way in: the first page, logging in and out, and the files that pages load."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import FileResponse

from spanhook.server import sessions
from spanhook.server._requests import is_page
from spanhook.server.needs import services_of
from spanhook.server.pages import tokens
from spanhook.server.pages.forms import Form
from spanhook.server.pages.rendering import FOLDER, goes_to, render
from spanhook.server.problems import Problem
from spanhook.server.services import Services

router = APIRouter(include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Wanted = Annotated[str, Query(max_length=4000)]
_FILES = {"pages.css": "text/css", "pages.js": "text/javascript", "icon.svg": "image/svg+xml"}


@router.get("/")
async def first() -> Response:
    """The first page is that of runs."""
    return goes_to("/runs")


@router.get("/login")
async def ask_for_key(request: Request, services: Serving, to: Wanted = "", out: Wanted = "") -> Response:
    """Ask for an API key, or to log in with OpenID Connect."""
    if not services.settings.authenticates:
        return goes_to(own_page(to))
    return _login(request, services, own_page(to), left=bool(out))


@router.post("/login")
async def log_in(request: Request, services: Serving, form: Form) -> Response:
    """Begin a session."""
    to = own_page(form.get("to", ""))
    try:
        session = await services.authentication.log_in(request.scope, form.get("key", "").strip())
    except Problem as problem:
        if problem.code != "credentials_invalid":
            raise
        return _login(request, services, to, error="This API key is not valid.", status=401)
    response = goes_to(to)
    tokens.keep(response, session, request.scope, name=sessions.COOKIE, seconds=sessions.LASTS_S)
    return response


@router.post("/logout")
async def log_out(services: Serving, _form: Form) -> Response:
    """End the session in this browser."""
    response = goes_to("/login?out=1" if services.authentication.openid else "/login")
    response.delete_cookie(sessions.COOKIE, path="/", httponly=True, samesite="strict")
    return response


def _file(name: str) -> FileResponse:
    return FileResponse(FOLDER / "static" / name, media_type=_FILES[name], headers={"Cache-Control": "no-cache"})


@router.get("/static/pages.css")
async def style() -> Response:
    """The style of pages."""
    return _file("pages.css")


@router.get("/static/pages.js")
async def script() -> Response:
    """The script of pages."""
    return _file("pages.js")


@router.get("/static/icon.svg")
async def icon() -> Response:
    """The icon of pages."""
    return _file("icon.svg")


def _login(
    request: Request, services: Services, to: str, *, error: str = "", status: int = 200, left: bool = False
) -> Response:
    known = services.authentication.openid
    return render(
        request.scope,
        "login.html",
        status=status,
        to=to,
        error=error,
        single=known.name if known else "",
        left=known.end_address() if known and left else "",
    )


def own_page(path: str) -> str:
    """A page of this server, whatever was asked for."""
    plain = path.partition("?")[0]
    odd = "\\" in path or not path.isprintable() or plain.startswith(("//", "/login", "/logout", "/static", "/events"))
    return path if path and path.isascii() and is_page(plain) and not odd else "/runs"
