"""Problems as web pages."""

from http import HTTPStatus
from urllib.parse import urlencode

from fastapi.responses import RedirectResponse, Response

from spanhook.server._requests import Scope
from spanhook.server.pages.rendering import HEADERS, render
from spanhook.server.problems import Problem


def problem_page(problem: Problem, scope: Scope) -> Response:
    """The page for a problem: where to log in if that is what is missing."""
    if problem.status == 401 and scope["path"] != "/login":
        return RedirectResponse(f"/login?{urlencode({'to': _wanted(scope)})}", 303, HEADERS)
    return render(
        scope,
        "problem.html",
        status=problem.status,
        headers=problem.headers,
        title=HTTPStatus(problem.status).phrase if problem.status in set(HTTPStatus) else "Refused",
        detail=problem.detail,
        code=problem.code,
    )


def _wanted(scope: Scope) -> str:
    if scope["method"] != "GET":
        return "/runs"
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{scope['path']}?{query}" if query else scope["path"]
