"""Errors of the HTTP API: problem details (RFC 9457) with codes that stay the same."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal, get_args

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from spanhook.diagnostics import Repeats, log
from spanhook.errors import StoreError

Code = Literal[
    "malformed_request",
    "credentials_missing",
    "credentials_invalid",
    "scope_missing",
    "operators_only",
    "cross_site",
    "forwarded",
    "not_found",
    "method_not_allowed",
    "request_timeout",
    "conflict",
    "too_many_hooks",
    "already_answered",
    "approver_not_allowed",
    "body_too_large",
    "media_type",
    "wrong_host",
    "invalid",
    "handler_not_allowed",
    "rate_limited",
    "too_many_dry_runs",
    "key_reused",
    "too_many_jobs",
    "run_failed",
    "rejected",
    "internal",
    "unavailable",
]
"""The codes, one for each reason; clients may rely on them."""

STATUS: dict[Code, int] = {
    "malformed_request": 400,
    "credentials_missing": 401,
    "credentials_invalid": 401,
    "scope_missing": 403,
    "operators_only": 403,
    "cross_site": 403,
    "forwarded": 403,
    "approver_not_allowed": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "conflict": 409,
    "too_many_hooks": 409,
    "already_answered": 409,
    "body_too_large": 413,
    "media_type": 415,
    "wrong_host": 421,
    "invalid": 422,
    "handler_not_allowed": 422,
    "rate_limited": 429,
    "too_many_dry_runs": 429,
    "key_reused": 422,
    "too_many_jobs": 429,
    "run_failed": 500,
    "rejected": 403,
    "internal": 500,
    "unavailable": 503,
}
"""The HTTP status of each code."""

MEDIA_TYPE = "application/problem+json"


class Mistake(BaseModel):
    """One mistake in a request."""

    model_config = ConfigDict(extra="forbid")

    place: str = Field(description="Where, such as body.priority.")
    message: str = Field(description="What was expected.")


class ProblemDetails(BaseModel):
    """Why a request was not served."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description="A URN that ends with the code.")
    title: str = Field(description="The name of the HTTP status.")
    status: int = Field(description="The HTTP status.")
    code: Code = Field(description="The reason, for programs.")
    detail: str = Field(description="The reason, for people.")
    errors: list[Mistake] = Field(default=[], description="Mistakes in the request.")


class Problem(Exception):
    """Ends a request with problem details.

    Args:
        code: The reason.
        detail: The same for people: what was given, what was expected, what to do. It has no secrets.
        headers: Further headers of the response.
        errors: Mistakes in the request.
        status: The HTTP status, if it is not the code's.
    """

    def __init__(
        self,
        code: Code,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: list[Mistake] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.code: Code = code
        self.status = STATUS[code] if status is None else status
        self.detail, self.errors = detail, errors or []
        self.headers = dict(headers or {})
        if self.status == 401:
            self.headers["WWW-Authenticate"] = "Bearer"

    def response(self) -> JSONResponse:
        """The response."""
        details = ProblemDetails(
            type=f"urn:spanhook:problem:{self.code}",
            title=_phrase(self.status),
            status=self.status,
            code=self.code,
            detail=self.detail,
            errors=self.errors,
        )
        return JSONResponse(
            details.model_dump(exclude_defaults=True), self.status, headers=self.headers, media_type=MEDIA_TYPE
        )


_repeats = Repeats()


def unavailable(error: StoreError, what: str = "the database") -> Problem:
    """The problem with a database, or something else, that cannot be used now.

    What is wrong is logged: it may name hosts, files, users.
    """
    text = str(error)
    if _repeats.due(text) is not None:
        log.warning("spanhook: %s", text)
    return Problem("unavailable", f"{what} cannot be used now; see the server's log", headers={"Retry-After": "1"})


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"


ALWAYS: tuple[Code, ...] = (
    "malformed_request",
    "credentials_missing",
    "credentials_invalid",
    "scope_missing",
    "rejected",
    "method_not_allowed",
    "wrong_host",
    "invalid",
    "rate_limited",
    "internal",
    "unavailable",
)
"""What any request may come to."""

ON_CHANGES: tuple[Code, ...] = ("cross_site", "request_timeout", "body_too_large", "media_type")
"""What a request with a body may come to besides."""


def documented(*codes: Code) -> dict[int | str, dict[str, Any]]:
    """The entries of an OpenAPI document for these codes, by HTTP status."""
    found: dict[int | str, dict[str, Any]] = {}
    for code in get_args(Code):
        if code not in codes:
            continue
        entry = found.setdefault(
            STATUS[code],
            {
                "description": "",
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
            },
        )
        entry["description"] = ", ".join(filter(None, (entry["description"], f"`{code}`")))
    return found
