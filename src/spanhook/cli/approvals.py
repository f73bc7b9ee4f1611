"""``spanhook approvals``: shows requests for approval, and answers them."""

import getpass
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime

from spanhook.config import locate, read_file
from spanhook.errors import ConfigurationError
from spanhook.store import ApprovalError, ApprovalRequest, Approvals, ApprovalStatus, open_approvals

_WIDEST = 60


def opened(store: str, config: str) -> Approvals:
    """The requests that a command is about.

    Args:
        store: The address of a store; empty for the one in the configuration file.
        config: The configuration file; empty for the one in the working directory.

    Raises:
        ConfigurationError: There is no store, or it is the memory of another process.
    """
    url = store or _configured(config or os.environ.get("SPANHOOK_CONFIG", "") or locate(os.getcwd()))
    if url.startswith("memory:"):
        raise ConfigurationError(
            "requests in memory:// are known to the application's process alone; keep them in sqlite:///FILE or redis://"
        )
    return open_approvals(url)


def _configured(path: str) -> str:
    if not path:
        raise ConfigurationError("no store: give --store, or the configuration file with --config")
    urls = read_file(path).store_urls
    if "default" not in urls:
        raise ConfigurationError(f"{path}: stores has no default; add it, or give --store")
    return urls["default"]


def show_all(approvals: Approvals, status: ApprovalStatus | None, as_json: bool) -> int:
    """Print requests. Returns the exit code, 0."""
    found = approvals.requests(status)
    if as_json:
        print(json.dumps([request.as_dict() for request in found], indent=2))  # noqa: T201
        return 0
    if not found:
        print(f"no {status or ''} requests in {approvals.shown}".replace("  ", " "))  # noqa: T201
        return 0
    rows = [("ID", "STATUS", "TOOL", "WHO", "UNTIL", "ARGUMENTS"), *map(_row, found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip())  # noqa: T201
    return 0


def show_one(approvals: Approvals, given: str, as_json: bool) -> int:
    """Print one request. Returns the exit code: 1 if there is none."""
    request = approvals.find(given)
    if request is None:
        raise ApprovalError(f"there is no request {given!r}; spanhook approvals list shows those that are open")
    if as_json:
        print(json.dumps(request.as_dict(), indent=2))  # noqa: T201
        return 0
    for name, value in _lines(request):
        print(f"{name:10}  {value}")  # noqa: T201
    return 0


def answer(approvals: Approvals, given: Sequence[str], *, approve: bool, by: str, reason: str, as_json: bool) -> int:
    """Answer requests, and print what has become of them.

    Returns:
        The exit code, 0.

    Raises:
        ApprovalError: One cannot be answered; those before it have been.
    """
    who = by or getpass.getuser()
    answered: list[ApprovalRequest] = []
    for one in given:
        answered.append(approvals.answer(one, approve=approve, by=who, reason=reason))
        if not as_json:
            print(f"{one} {answered[-1].status} by {who}")  # noqa: T201
    if as_json:
        print(json.dumps([request.as_dict() for request in answered], indent=2))  # noqa: T201
    return 0


def _row(request: ApprovalRequest) -> tuple[str, ...]:
    shown = request.arguments if len(request.arguments) <= _WIDEST else f"{request.arguments[: _WIDEST - 3]}..."
    return request.id, request.status, request.tool, _who(request), _time(request.expires_at), shown


def _lines(request: ApprovalRequest) -> list[tuple[str, str]]:
    lines = [
        ("id", request.id),
        ("status", request.status),
        ("policy", request.policy),
        ("tool", request.tool),
        ("arguments", request.arguments),
        ("title", request.title),
        ("tenant", request.tenant_id),
        ("user", request.user_id),
        ("session", request.session_id),
        ("agent", request.agent),
        ("asked", _time(request.asked_at)),
        ("until", _time(request.expires_at)),
        ("approvers", ", ".join(request.approvers)),
        ("answered", f"by {request.answered_by}, {_time(request.answered_at)}" if request.answered_by else ""),
        ("reason", request.reason),
    ]
    return [(name, value) for name, value in lines if value]


def _who(request: ApprovalRequest) -> str:
    return "/".join(part for part in (request.tenant_id, request.user_id) if part) or "-"


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%SZ}"
