"""The typed context of HTTP requests.

An operation of the kind ``request`` has a mapping as its inputs, with ``method``, ``path``, ``headers`` and ``body``,
and one as its result, with ``status_code``, ``headers`` and ``body``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from spanhook.definitions.context import HookContext
from spanhook.model import Operation, copied

_REQUEST = ("method", "path", "headers", "body")
_RESPONSE = {"status_code": "status_code", "response_headers": "headers", "response_body": "body"}


@dataclass(slots=True, kw_only=True)
class RequestHookContext(HookContext):
    """Context of ``request``.

    Attributes:
        method, path: The request's method and path.
        headers: Its headers.
        body: Its body.
        status_code: The response's status. Set it with ``abort`` to choose the status of the refusal.
        response_headers, response_body: The response's headers and body; empty before it.
    """

    REQUEST: ClassVar[Mapping[str, str]] = {name: name for name in _REQUEST}

    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    status_code: int = 0
    response_headers: dict[str, str] = field(default_factory=dict[str, str])
    response_body: bytes = b""

    def _read_request(self, op: Operation) -> None:
        given = _mapping(op.request.inputs)
        for name in _REQUEST:
            if name in given:
                setattr(self, name, copied(given[name]))

    def _read_result(self, op: Operation) -> None:
        result = _mapping(op.result)
        for name, part in _RESPONSE.items():
            if part in result:
                setattr(self, name, copied(result[part]))

    def _answers(self) -> tuple[str, ...]:
        return ("result", "response_headers", "response_body") if self.abort else ("result", *_RESPONSE)

    def _rewrite(self, op: Operation, asked: dict[str, Any]) -> None:
        op.replace(inputs={**_mapping(op.request.inputs), **asked})

    def _answer(self, changed: Sequence[str]) -> Any:
        parts = {part: getattr(self, name) for name, part in _RESPONSE.items() if name in changed}
        return {**_mapping(self.result), **parts} if parts else self.result

    @property
    def status_of_abort(self) -> int:
        given = self._given.get("status_code", 0)
        status: Any = self.status_code
        is_of_response = status == given or (isinstance(status, int) and status < 400)
        return 403 if is_of_response else status


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
