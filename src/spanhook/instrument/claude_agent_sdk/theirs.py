"""What the application's own hooks answer about one use of a tool; the program asks all hooks at once."""

from collections.abc import Mapping
from typing import Any

import anyio


class Theirs:
    """The answers to one event.

    Attributes:
        denied: One of them refuses.
        input: The last input that they give a tool; ``None`` if they give it none.
        output: The last output that they put in place of a tool's; ``None`` if they put none there.
    """

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._changed = anyio.Event()
        self.denied = False
        self.input: dict[str, Any] | None = None
        self.output: Any = None

    def asked(self, request_id: str) -> None:
        """One of them has been asked."""
        self._pending.append(request_id)

    def dropped(self, request_id: str) -> None:
        """One that has been asked will not answer."""
        if request_id in self._pending:
            self._pending.remove(request_id)
            self._tell()

    def answered(self, said: Any) -> None:
        """One of them has answered, or failed."""
        if self._pending:
            self._pending.pop(0)
        if isinstance(said, Mapping):
            self._take(said, said.get("hookSpecificOutput"))
        self._tell()

    def _take(self, said: Mapping[str, Any], more: Any) -> None:
        told: Mapping[str, Any] = more if isinstance(more, Mapping) else {}
        if told.get("permissionDecision") == "deny" or said.get("decision") == "block":
            self.denied = True
        if isinstance(told.get("updatedInput"), Mapping):
            self.input = dict(told["updatedInput"])
        for name in ("updatedToolOutput", "updatedMCPToolOutput"):
            if told.get(name) is not None:
                self.output = told[name]

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def all(self) -> None:
        """Wait until all that have been asked have answered."""
        while self._pending:
            await self._changed.wait()
