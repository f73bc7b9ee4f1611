"""Which tools an application runs without a gate: models asked for them, and results of theirs were sent that no
``tool.execute`` had.
"""

import threading
from collections import Counter, deque
from collections.abc import Iterable

from spanhook import semconv
from spanhook.diagnostics import log
from spanhook.fork import after_fork
from spanhook.model.arguments import Attributes
from spanhook.model.encoding import exact_text

OTHER = "_other"
_MAX_NAMES = 100
_MAX_KEPT = 10_000
"""Ids of calls that are remembered; also how many executions of one name may wait for their results."""
_MAX_NEW = 1_000
"""Executions that are remembered between two requests with results."""


class ToolResults:
    """Matches results that are sent to models with the tools that were executed: by the id of the call, by the tool's
    name, and otherwise with one whose name no model has asked for, such as a function bound under its own name. In
    that case, only one of both may have an id: two ids that differ belong to two calls.

    Attributes:
        executed: The attributes of tools that were executed or refused, until a request with results comes. Every tool
            call appends its own, so that is all that it costs.
        ungated: How many results no execution was found for, by the tool's name.
    """

    def __init__(self) -> None:
        self.executed: deque[Attributes] = deque(maxlen=_MAX_NEW)
        self.ungated: Counter[str] = Counter()
        self._executed: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        """How often a tool was executed, by name: without an id, and with one."""
        self._ids: dict[str, str] = {}
        self._asked: dict[str, None] = {}
        self._seen: dict[tuple[str, int], None] = {}
        self._lock = threading.Lock()

    def sent(self, results: Iterable[tuple[str, str]], place: int) -> None:
        """Results are sent to a model; each counts once, however often the request is repeated.

        Args:
            results: The id of the model's call and the tool's name, as far as known.
            place: How many messages there are; ids may be used again in later ones.
        """
        with self._lock:
            self._sort()
            new = [(call_id, name) for call_id, name in results if not self._is_seen(call_id or name, place)]
            for _, name in new:
                self._asked[name] = None
            _trim(self._asked)
            unknown = [result for result in new if not self._has_known_id(result[0])]  # all ids before any name
            lacking = [name for call_id, name in unknown if not self._is_gated(call_id, name)]
            first = list(dict.fromkeys(name for name in map(self._count, lacking) if name))
        if first:
            log.warning(
                "spanhook: the application runs tools that hooks do not see: %s; decorate their functions with "
                "spanhook.tool, or name them under bind in the configuration file",
                ", ".join(first),
            )

    def names(self) -> tuple[str, ...]:
        """The tools whose results no execution was found for."""
        with self._lock:
            return tuple(sorted(self.ungated))

    def _sort(self) -> None:
        """Count the executions since the last results by name, and keep their calls' ids."""
        while self.executed:
            attributes = self.executed.popleft()
            name = exact_text(attributes.get(semconv.GEN_AI_TOOL_NAME))
            call_id = exact_text(attributes.get(semconv.GEN_AI_TOOL_CALL_ID))
            executed = self._executed[bool(call_id)]
            if len(executed) < _MAX_KEPT and executed[name] < _MAX_KEPT:
                executed[name] += 1
            if call_id:
                self._ids[call_id] = name
                _trim(self._ids)

    def _is_seen(self, key: str, place: int) -> bool:
        if (key, place) in self._seen:
            return True
        self._seen[key, place] = None
        _trim(self._seen)
        return False

    def _has_known_id(self, call_id: str) -> bool:
        name = self._ids.pop(call_id, None)
        if name is not None:
            _take(self._executed[True], name)
        return name is not None

    def _is_gated(self, call_id: str, name: str) -> bool:
        without_id, with_id = self._executed[False], self._executed[True]
        if _take(without_id, name) or _take(with_id, name):
            return True
        candidates = (without_id,) if call_id else (without_id, with_id)
        return any(_take(executed, one) for executed in candidates for one in list(executed) if one not in self._asked)

    def _count(self, name: str) -> str:
        """Counts a result; returns the name if it is the first of this tool."""
        name = name or OTHER
        if name not in self.ungated and len(self.ungated) >= _MAX_NAMES:
            name = OTHER
        self.ungated[name] += 1
        return name if self.ungated[name] == 1 else ""

    def renew(self) -> None:
        """In a forked child: count anew."""
        self.__init__()


def _take(executed: Counter[str], name: str) -> bool:
    """Take one execution of a tool away; false if there is none."""
    if executed[name] > 0:
        executed[name] -= 1
        return True
    del executed[name]
    return False


def _trim(kept: dict[str, str] | dict[str, None] | dict[tuple[str, int], None]) -> None:
    if len(kept) > _MAX_KEPT:
        del kept[next(iter(kept))]  # pyright: ignore[reportArgumentType]


ungated_tools = ToolResults()
after_fork("tool results", ungated_tools.renew)
