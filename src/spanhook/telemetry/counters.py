"""Sums that many threads add to without a lock and without losing counts.

A plain ``d[k] = d.get(k, 0) + n`` on a shared dict loses about a third of the counts over a few threads. Here every
thread adds to its own lists, and readers add those up. Keys that are known beforehand have slots in one list of a
thread, which costs a third of looking up a key's own list.

Lists belong to the identifier of a thread, which the system gives to a new one when a thread has ended. So threads that
are started for every call, such as those of tools, go on with the lists of those before them.
"""

import sys
import threading
from collections.abc import Iterator, Mapping
from threading import get_ident
from typing import Any

Key = Any
Vector = list[int]
Vectors = dict[Key, Vector]

MAX_KEYS = 1000
OVERFLOW: Key = ("otel.metric.overflow",)
_CELLS: Key = None
"""The key of a thread's numbers by slot."""
_FOLD_AT = 64
"""How many threads have lists at least when it is looked which of them have ended."""


class Counters:
    """Vectors of integers by key, for at most ``MAX_KEYS`` keys; all further keys share one.

    Args:
        width: How many numbers are summed per key.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._slots: dict[Key, int] = {}
        self._naming = threading.Lock()
        self.renew()

    def slot(self, key: Key) -> int:
        """Where ``cells`` have the first number of ``key``, in every thread and for good."""
        found = self._slots.get(key)
        if found is None:
            with self._naming:
                if len(self._slots) >= MAX_KEYS:
                    key = OVERFLOW
                found = self._slots.setdefault(key, len(self._slots) * self._width)
        return found

    def cells(self, reach: int) -> list[int]:
        """The calling thread's own numbers by slot, to be added to in place; at least up to index ``reach``."""
        try:
            cells = self._own[get_ident()][_CELLS]  # as `mine`, without a call: each hook that has passed counts here
        except KeyError:
            cells = self._join()[_CELLS]
        if len(cells) <= reach:
            cells.extend([0] * (reach + 1 - len(cells)))
        return cells

    def renew(self) -> None:
        """Start from zero in a forked child: the parent reports what was counted before."""
        self._lock = threading.Lock()
        self._own: dict[int, Vectors] = {}
        self._ended: list[tuple[int, Vectors]] = []
        self._folded: Vectors = {}
        self._admitted: dict[Key, None] = {}
        self._fold_at = _FOLD_AT

    def mine(self) -> Vectors:
        """The calling thread's own vectors, as created by ``vector``."""
        try:
            return self._own[get_ident()]
        except KeyError:
            return self._join()

    def vector(self, key: Key) -> Vector:
        """The calling thread's own vector for ``key``, to be added to in place."""
        vectors = self.mine()
        found = vectors.get(key)
        if found is None:
            if len(vectors) > MAX_KEYS:  # one is that of the cells
                key = OVERFLOW
            found = vectors.setdefault(key, [0] * self._width)
        return found

    def _join(self) -> Vectors:
        with self._lock:
            if len(self._own) >= self._fold_at:
                self._fold()
                self._fold_at = max(_FOLD_AT, 2 * len(self._own))
            return self._own.setdefault(get_ident(), {_CELLS: []})

    def _fold(self) -> None:
        """Add up what ended threads left behind, so that ended threads use no memory."""
        live = set(sys._current_frames())
        if not live.issuperset(self._own):
            kept = {ident: vectors for ident, vectors in self._own.items() if ident in live}
            ended = [*self._ended, *((ident, self._own[ident]) for ident in self._own if ident not in live)]
            # In one statement: an interrupt in between would count something twice, or never.
            self._own, self._ended = kept, ended
        if not self._ended:
            return
        # A thread that began meanwhile may have found the vectors of an ended one; from now on, none can.
        live = set(sys._current_frames())
        left = [one for one in self._ended if one[0] in live]
        folded = {key: list(vector) for key, vector in self._folded.items()}
        for ident, vectors in self._ended:
            if ident not in live:
                self._add(folded, vectors)
        self._folded, self._ended = folded, left

    def _add(self, into: Vectors, vectors: Mapping[Key, Vector]) -> None:
        admitted = self._admitted
        for name, vector in self._spread(vectors):
            key = name if name in admitted or self._admit(name) else OVERFLOW
            held = into.get(key)
            if held is None:
                into[key] = vector.copy()
            else:
                for index, amount in enumerate(vector):
                    held[index] += amount

    def _spread(self, vectors: Mapping[Key, Vector]) -> Iterator[tuple[Key, Vector]]:
        """Each vector with its key, also of those that have slots."""
        width = self._width
        for name, vector in dict(vectors).items():
            if name is not _CELLS:
                yield name, vector
                continue
            for key, first in dict(self._slots).items():
                part = vector[first : first + width]
                if any(part):
                    yield key, part

    def _admit(self, name: Key) -> bool:
        if len(self._admitted) >= MAX_KEYS:
            return False
        self._admitted[name] = None
        return True

    def sums(self) -> Vectors:
        """The sums over all threads, running and ended, by key."""
        with self._lock:
            self._fold()
            result = {key: list(vector) for key, vector in self._folded.items()}
            for vectors in (*self._own.values(), *(vectors for _, vectors in self._ended)):
                self._add(result, vectors)
        return result

    def __len__(self) -> int:
        """The number of threads whose lists are kept."""
        return len(self._own) + len(self._ended)
