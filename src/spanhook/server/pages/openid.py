"""Logging in with OpenID Connect: to the issuer, and back."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from spanhook.server import openid, sessions
from spanhook.server._requests import cookie
from spanhook.server.pages import tokens
from spanhook.server.pages.entrance import Serving, Wanted, own_page
from spanhook.server.pages.rendering import HEADERS, render
from spanhook.server.problems import Problem

router = APIRouter(prefix="/login", include_in_schema=False)
_PATH = "/login"


@router.get("/openid")
async def begin(request: Request, services: Serving, to: Wanted = "") -> Response:
    """Send the browser to the issuer."""
    known = services.authentication.openid
    if known is None:
        raise Problem("not_found", "there is nothing here")
    try:
        begun = await known.begin(own_page(to))
    except Problem as problem:
        return _again(request, services, problem)
    response = RedirectResponse(begun.url, 303, HEADERS)
    # Lax, as it is a page of the issuer's that leads back here.
    tokens.keep(
        response,
        begun.cookie,
        request.scope,
        name=openid.COOKIE,
        seconds=openid.LOGIN_S,
        path=_PATH,
        samesite="lax",
    )
    return response


@router.get("/callback")
async def finish(request: Request, services: Serving) -> Response:
    """Begin a session with what the issuer has sent the browser back with."""
    given, login = dict(request.query_params), cookie(request.scope, openid.COOKIE)
    try:
        finished = await services.authentication.finish_login(request.scope, given, login)
    except Problem as problem:
        if problem.code not in ("credentials_invalid", "unavailable"):
            raise
        response = _again(request, services, problem)
    else:
        # A page, not a redirect: browsers send the session's cookie only if one of our own pages leads to the next.
        response = render(request.scope, "logged_in.html", to=own_page(finished.to))
        tokens.keep(response, finished.session, request.scope, name=sessions.COOKIE, seconds=finished.seconds)
    response.delete_cookie(openid.COOKIE, path=_PATH, httponly=True, samesite="lax")
    return response


def _again(request: Request, services: Serving, problem: Problem) -> Response:
    known = services.authentication.openid
    said = problem.detail[:1].upper() + problem.detail[1:] + "."
    return render(
        request.scope,
        "login.html",
        status=problem.status,
        headers=problem.headers,
        to="/runs",
        error=said,
        single=known.name if known else "",
        left="",
    )
