"""Pages as HTML. Everything that is put into a template is shown as text."""

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from spanhook.server._requests import Scope as AsgiScope
from spanhook.server._requests import header
from spanhook.server.pages import formats, tokens
from spanhook.server.scopes import Principal, Scope

FOLDER = Path(__file__).parent
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers hide the origin of forms from us
}
"""Headers of pages that differ from those of other responses."""


class Entry(NamedTuple):
    """A page in the navigation."""

    name: str
    path: str
    scope: Scope


NAVIGATION = (
    Entry("Runs", "/runs", "runs:read"),
    Entry("Decisions", "/decisions", "runs:read"),
    Entry("Jobs", "/jobs", "jobs:read"),
    Entry("Usage", "/usage", "usage:read"),
    Entry("Budgets", "/budgets", "usage:read"),
    Entry("Hooks", "/hooks", "hooks:read"),
    Entry("Approvals", "/approvals", "approvals:decide"),
)

_environment = Environment(
    loader=FileSystemLoader(FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters.update(formats.FILTERS)
_environment.filters["segment"] = lambda text: quote(str(text), safe="")


def render(
    scope: AsgiScope, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A page.

    Args:
        scope: The request.
        template: The file's name.
        status: The HTTP status.
        headers: Further headers.
        **values: What the template shows.
    """
    principal: Principal | None = scope.get("state", {}).get("principal")
    entries = [one for one in NAVIGATION if principal is not None and principal.may(one.scope)]
    csrf = tokens.of(scope)
    text = _environment.get_template(template).render(
        {
            "navigation": entries,
            "path": scope["path"],
            "principal": principal,
            "csrf": csrf.token,
            "here": here(scope),
            **values,
        }
    )
    response = HTMLResponse(text, status, {**HEADERS, **(headers or {})})
    if csrf.cookie:
        tokens.keep(response, csrf.cookie, scope)
    return response


def here(scope: AsgiScope) -> str:
    """The address that the server was called by. Behind a proxy with TLS, it is the one in ``allowed_origins``."""
    authority = header(scope, "host") or ""
    app: Any = scope.get("app")
    origins: tuple[str, ...] = app.state.services.settings.allowed_origins if app is not None else ()
    own = (one for one in origins if one.partition("://")[2] == authority)
    return next(own, f"{scope['scheme']}://{authority}")


def goes_to(path: str) -> RedirectResponse:
    """Where to go after a change: a reload does not send it again."""
    return RedirectResponse(path, 303, HEADERS)


def address(request: Request, **changes: str) -> str:
    """The address of the page with other parameters; those that are empty are left out."""
    kept = {**dict(request.query_params), **changes}
    given = urlencode({name: value for name, value in kept.items() if value})
    return f"{request.url.path}?{given}" if given else request.url.path
