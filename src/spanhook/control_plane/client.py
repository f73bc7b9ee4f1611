"""Asks the server, over one connection that stays open. It knows nothing of what sets mean."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import urllib3
from opentelemetry import context

from spanhook.control_plane.sets import LARGEST
from spanhook.control_plane.timed import pool
from spanhook.version import __version__

SYNC = "/v1/sync"
REPORTS = "/v1/sync/reports"
PROCESSES = "/v1/processes"
_TIMEOUT = urllib3.Timeout(connect=3, read=10)
_BRIEF = urllib3.Timeout(connect=1, read=2)
_SUPPRESSED = "suppress_instrumentation"
"""What OpenTelemetry's instrumentations of HTTP clients look for in the context."""


class Unreachable(Exception):
    """The server has not answered as it should.

    Args:
        kind: What went wrong, as a short name or an HTTP status.
        message: The same for people.
        retry_after: Seconds that the server asks to wait; 0 if it does not.
    """

    def __init__(self, kind: str, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.kind, self.retry_after = kind, retry_after


class Answer(NamedTuple):
    """What the server has now.

    Attributes:
        content: The set as it was sent; ``None`` if it is the one that is known already.
        etag: What names it.
    """

    content: bytes | None
    etag: str


class Client:
    """Asks one server.

    Args:
        url: Its address.
        key_env: The environment variable with the API key; ``None`` for none. It is read for each request.
    """

    def __init__(self, url: str, key_env: str | None) -> None:
        self._url, self._key_env = url.rstrip("/"), key_env
        self._pool = pool(_TIMEOUT)

    def renew(self) -> None:
        """Forget the parent's connection, in a forked child."""
        self._pool = pool(_TIMEOUT)

    def fetch(self, etag: str) -> Answer:
        """The set that is in force, unless it is the one that ``etag`` names.

        Raises:
            Unreachable: The server does not answer, or its answer is not of this form.
        """
        headers = {"If-None-Match": etag} if etag else {}
        status, given, content = self._ask("GET", SYNC, headers, None, _TIMEOUT)
        if status == 304:
            return Answer(None, etag)
        return Answer(content, given.get("ETag", ""))

    def report(self, facts: Mapping[str, Any], *, brief: bool = False) -> None:
        """Tell the server what is in force here.

        Args:
            facts: What it is.
            brief: Whether to wait no longer than a process may that is about to end.

        Raises:
            Unreachable: It has not taken it.
        """
        body = json.dumps(facts).encode()
        self._ask("POST", REPORTS, {"Content-Type": "application/json"}, body, _BRIEF if brief else _TIMEOUT)

    def processes(self) -> list[dict[str, Any]]:
        """The processes that follow the server, the latest heard of first.

        Raises:
            Unreachable: The server does not answer, or its answer is not of this form.
        """
        content = self._ask("GET", PROCESSES, {}, None, _BRIEF)[2]
        try:
            return [*json.loads(content)["processes"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Unreachable("unreadable", "has answered with no list of processes") from None

    def _ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None,
        timeout: urllib3.Timeout,
    ) -> tuple[int, Mapping[str, str], bytes]:
        every = {
            **headers,
            "User-Agent": f"spanhook/{__version__}",
            "Accept": "application/json",
            **self._credentials(),
        }
        token = context.attach(context.set_value(_SUPPRESSED, True))
        try:
            response = self._pool.request(
                method,
                f"{self._url}{path}",
                headers=every,
                body=body,
                redirect=False,
                preload_content=False,
                timeout=timeout,
            )
            try:
                content = response.read(LARGEST + 1, decode_content=False)
            finally:
                response.release_conn()
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:  # an API key may have any character
            raise Unreachable(_kind(error), f"does not answer: {_text(error)}") from None
        finally:
            context.detach(token)
        if len(content) > LARGEST:
            response.close()
            raise Unreachable("too_large", f"has answered with more than {LARGEST} bytes")
        if response.status not in (200, 304) or (response.status == 304 and "If-None-Match" not in headers):
            raise _refused(response.status, response.headers.get("Retry-After", ""), content)
        return response.status, response.headers, content

    def _credentials(self) -> dict[str, str]:
        key = os.environ.get(self._key_env, "").strip() if self._key_env else ""
        return {"Authorization": f"Bearer {key}"} if key else {}


def _refused(status: int, after: str, content: bytes) -> Unreachable:
    wait = float(after) if after.isdecimal() and len(after) < 6 else 0.0
    try:
        detail = str(json.loads(content)["detail"])[:200]
    except (ValueError, KeyError, TypeError, RecursionError):
        detail = ""
    said = f"has answered {status}" + (f": {' '.join(detail.split())}" if detail else "")
    return Unreachable(str(status), said, wait)


def _text(error: BaseException) -> str:
    """What an error says, in one line and always the same: older versions of urllib3 have an object's address in it."""
    return re.sub(r"^<[\w.]+ object at 0x[0-9a-f]+>: ", "", " ".join(str(error).split()))


def _kind(error: BaseException) -> str:
    """The kind of a failure: few names, for metrics."""
    if isinstance(error, urllib3.exceptions.SSLError):
        return "tls"
    if isinstance(error, urllib3.exceptions.TimeoutError) and not isinstance(
        error, urllib3.exceptions.NewConnectionError
    ):
        return "timeout"
    return "connection"
