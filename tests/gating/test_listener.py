"""Listeners keep telling, however their threads come and go."""

import threading
from collections import deque
from contextvars import Context
from typing import Any

import pytest

from spanhook.diagnostics import internal
from spanhook.gating import listener
from spanhook.gating.listener import Delivery, Listener


def test_what_arrives_while_its_thread_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "IDLE_S", 0.0)
    monkeypatch.setattr(listener, "QUIET", 0)
    told, arrived = list[Any](), threading.Event()

    class Late(deque[Any]):
        """Another thread puts something when the listener's thread has looked for the last time."""

        looks = 0

        def __bool__(self) -> bool:
            empty = len(self) == 0
            self.looks += empty
            if empty and self.looks == 3:  # told all, not woken, about to end
                putting = threading.Thread(target=tested.add, args=(second,))
                putting.start()
                putting.join(0.1)  # it may have to wait until this thread has ended
            return not empty

    def tell(delivery: Any) -> None:
        told.append(delivery)
        if len(told) == 2:
            arrived.set()

    nothing: Any = None
    first, second = (Delivery(nothing, nothing, Context(), nothing) for _ in range(2))
    tested = Listener("late", tell)
    tested._waiting = Late()
    tested.add(first)
    assert arrived.wait(60.0)
    assert told == [first, second]


def test_at_exit_one_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_leaving", True)
    monkeypatch.setattr(listener, "EXIT_S", 0.01)
    go, waited = threading.Event(), list[float]()

    class Watched(Listener):
        def flush(self, seconds: float) -> bool:
            waited.append(seconds)
            return super().flush(seconds)

    nothing: Any = None

    def hang(_delivery: Delivery) -> None:
        go.wait(60.0)

    tested = Watched("hung", hang)
    for _ in range(3):
        tested.add(Delivery(nothing, nothing, Context(), nothing))
    assert waited == [0.01]
    go.set()
    assert tested.flush(30.0)


def test_at_exit_what_one_that_hangs_leaves_undelivered_is_lost_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "EXIT_S", 0.01)
    monkeypatch.setattr(listener, "_leaving", False)
    go, begun, told = threading.Event(), threading.Event(), list[Any]()

    def hang(_delivery: Delivery) -> None:
        begun.set()
        go.wait(60.0)

    nothing: Any = None
    quick, hung = Listener("quick", told.append), Listener("hung", hang)
    monkeypatch.setattr(listener, "_renewed", [quick, hung])
    quick.add(Delivery(nothing, nothing, Context(), nothing))
    assert quick.flush(30.0)
    for _ in range(3):
        hung.add(Delivery(nothing, nothing, Context(), nothing))
    assert begun.wait(30.0)
    listener.leave()
    assert internal.lost["subscription"] == 2
    assert len(told) == 1
    go.set()
    assert hung.flush(30.0)


def test_ctrl_c_is_the_callers_while_it_delivers_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_delivery: Delivery) -> None:
        raise KeyboardInterrupt

    nothing: Any = None
    tested = Listener("late", interrupted)
    monkeypatch.setattr(tested, "_wake", lambda: None)  # as where no thread can be started any more
    tested.add(Delivery(nothing, nothing, Context(), nothing))
    with pytest.raises(KeyboardInterrupt):
        tested.flush(30.0)
