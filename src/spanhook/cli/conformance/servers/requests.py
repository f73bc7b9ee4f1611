"""What servers on loopback record: requests, each in the line of the subject that sent it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from spanhook.cli.conformance.servers.openai_replies import Json, Reply
from spanhook.cli.conformance.subject import PLANTED, Body


@dataclass(frozen=True)
class Seen:
    """A received request: its path without the base URL's part, its JSON, its headers in lower case."""

    method: str
    path: str
    body: Json
    headers: dict[str, str]


class Line(list[Seen]):
    """The requests of one subject: they count as runs of its body, and fail or wait as the body is told to.

    Args:
        body: The body.
        tokens: Returns the usage that the server reports for a request.
    """

    def __init__(self, body: Body, tokens: Callable[[Seen], int]) -> None:
        super().__init__()
        self._body, self._tokens = body, tokens

    def append(self, seen: Seen, /) -> None:
        super().append(seen)
        self._body.count(seen, self._tokens(seen))

    def reply(self, usual: Reply) -> Reply:
        """What the server replies, given what it would reply otherwise."""
        fault = self._body.fault
        reply = usual if self._body.hold is None else replace(usual, hold=self._body.hold)
        if self._body.running:
            reply = replace(reply, running=True)
        if fault is None:
            return reply
        return replace(reply, status=fault.status or 200, cut=fault.cut, message=f"{PLANTED} is broken")
