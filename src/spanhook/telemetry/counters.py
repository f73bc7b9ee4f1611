"""Sums that many threads add to without a lock and without losing counts.

A plain ``d[k] = d.get(k, 0) + n`` on a shared dict loses about a third of the counts over a few threads. Here every
thread adds to its own lists, and readers add those up.
"""

import threading
import weakref
from collections.abc import Mapping
from typing import Any

Key = Any
Vector = list[int]

MAX_KEYS = 1000
OVERFLOW: Key = ("otel.metric.overflow",)


class Counters:
    """Vectors of integers by key, for at most ``MAX_KEYS`` keys; all further keys share one.

    Args:
        width: How many numbers are summed per key.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self.renew()

    def renew(self) -> None:
        """Start from zero in a forked child: the parent reports what was counted before."""
        self._local = threading.local()
        self._lock = threading.Lock()
        self._live: list[tuple[weakref.ref[threading.Thread], dict[Key, Vector]]] = []
        self._folded: dict[Key, Vector] = {}
        self._admitted: dict[Key, None] = {}

    def mine(self) -> dict[Key, Vector]:
        """The calling thread's own vectors, as created by ``vector``."""
        try:
            return self._local.vectors
        except AttributeError:
            return self._join()

    def vector(self, key: Key) -> Vector:
        """The calling thread's own vector for ``key``, to be added to in place."""
        vectors = self.mine()
        found = vectors.get(key)
        if found is None:
            if len(vectors) >= MAX_KEYS:
                key = OVERFLOW
            found = vectors.setdefault(key, [0] * self._width)
        return found

    def _join(self) -> dict[Key, Vector]:
        vectors: dict[Key, Vector] = {}
        with self._lock:
            self._fold()
            self._live.append((weakref.ref(threading.current_thread()), vectors))
        self._local.vectors = vectors  # last, so that after an interrupt it is done again
        return vectors

    def _fold(self) -> None:
        """Add up what ended threads left behind, so that ended threads use no memory."""
        live: list[tuple[weakref.ref[threading.Thread], dict[Key, Vector]]] = []
        ended: list[dict[Key, Vector]] = []
        for reference, vectors in self._live:
            thread = reference()
            if thread is not None and thread.is_alive():
                live.append((reference, vectors))
            else:
                ended.append(vectors)
        if not ended:
            return
        folded = {key: list(vector) for key, vector in self._folded.items()}
        for vectors in ended:
            self._add(folded, vectors)
        # In one statement: an interrupt in between would count something twice, or never.
        self._folded, self._live = folded, live

    def _add(self, into: dict[Key, Vector], vectors: Mapping[Key, Vector]) -> None:
        admitted = self._admitted
        for name, vector in list(vectors.items()):
            key = name if name in admitted or self._admit(name) else OVERFLOW
            held = into.get(key)
            if held is None:
                into[key] = vector.copy()
            else:
                for index, amount in enumerate(vector):
                    held[index] += amount

    def _admit(self, name: Key) -> bool:
        if len(self._admitted) >= MAX_KEYS:
            return False
        self._admitted[name] = None
        return True

    def sums(self) -> dict[Key, Vector]:
        """The sums over all threads, running and ended, by key."""
        with self._lock:
            self._fold()
            result = {key: list(vector) for key, vector in self._folded.items()}
            for _, vectors in self._live:
                self._add(result, vectors)
        return result

    def __len__(self) -> int:
        """The number of tracked threads."""
        return len(self._live)
