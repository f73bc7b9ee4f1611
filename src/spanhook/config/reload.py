"""Following a configuration file while the application runs: what changes in it is taken over, whole or not at all.

The file is looked at once a second by a thread of ours, and at once on SIGHUP where nothing else handles that. A file
that is missing or wrong changes nothing, and is said once.
"""

import os
import queue
import signal
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any

from spanhook.concurrency import OwnThread
from spanhook.config.file import ConfigurationFile, load_file
from spanhook.config.instrumenting import exchange, in_force
from spanhook.config.own_hooks import OwnHooks, load_own
from spanhook.config.reading import content_of, shown
from spanhook.diagnostics import log
from spanhook.errors import SpanhookError
from spanhook.fork import after_fork
from spanhook.gating import Hooks

INTERVAL_S = 1.0

Signature = tuple[int, ...]
_UNKNOWN: Signature = ()


class Follower:
    """Takes over what changes in a configuration file.

    Args:
        file: What is in force of it.
        own: The hooks that it names; ``None`` if an option or a variable names others instead.
        policies: The hooks of its policies.
        over: Settings given by options and variables, which stand over those of the file.
    """

    def __init__(self, file: ConfigurationFile, own: OwnHooks | None, policies: Hooks, over: Mapping[str, Any]) -> None:
        self._file, self._own, self._policies, self._over = file, own, policies, over
        self._trying: tuple[Hooks, ...] = ()
        """What is being put in force right now, which a fork may find half done."""
        self._known = self._seen = _UNKNOWN
        self._told = ""
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._stopped = False
        self._terminal = _has_terminal()

    # ------------------------------------------------------------------------------------------ when

    def start(self) -> None:
        """Look at the file from now on."""
        OwnThread(self._watch, "spanhook-configuration").start()
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
            signal.signal(signal.SIGHUP, self._on_signal)

    def ask(self) -> None:
        """Have the thread read the file now; it may be called in a signal's handler."""
        self._asked.put(True)

    def stop(self) -> None:
        """Look at it no more."""
        self._stopped = True
        self._asked.put(False)

    def renew(self) -> None:
        """Start afresh in a forked child, which has no thread."""
        if not self._stopped:
            self._asked = queue.SimpleQueue()
            self._known = self._seen = _UNKNOWN
            OwnThread(self._watch, "spanhook-configuration").start()

    def _watch(self) -> None:
        asked = self._asked
        while not self._stopped:
            try:
                now = asked.get(timeout=INTERVAL_S)
            except queue.Empty:
                now = False
            if not in_force(self._policies):
                self._stopped = True  # the application has taken everything out
            elif now:
                self.reload()
            else:
                self.look()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Have the thread read the file, unless the signal means that the terminal is gone."""
        if self._stopped or (self._terminal and not _has_terminal()):
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        else:
            self.ask()

    def look(self) -> None:
        """Take the file over if it has changed, and has not changed further since the last look.

        A file that is just being written may be valid, and lack the policies that are not written yet.
        """
        found = _signature(self._file.path)
        settled = found == self._seen
        self._seen = found
        if settled and found != self._known:
            self.reload()

    # ------------------------------------------------------------------------------------------ what

    def reload(self) -> bool:
        """Read the file now and take it over.

        Returns:
            Whether something else is in force than before.
        """
        self._known = _signature(self._file.path)
        try:
            if not self._trying and content_of(self._file.path) == self._file.document.content:
                self._told = ""
                return False
            file = load_file(self._file.path, self._file.policies)
            self._take(file)
        except Exception as error:
            said = str(error) if isinstance(error, SpanhookError) else f"{type(error).__name__}: {error}"
            self._tell(" ".join(said.split()))
            return False
        self._told = ""
        log.info("spanhook: %s has changed and is active now", shown(file.path))
        return True

    def _take(self, file: ConfigurationFile) -> None:
        settings = file.settings(self._over)
        before, policies = self._own, file.registry()
        own = before
        if own is not None and file.configuration.hooks != self._file.configuration.hooks:
            own = load_own(file, before)
        out = (*_registries(before), self._policies, *self._trying)
        self._trying = (*_registries(own), policies)
        try:
            exchange(out, self._trying, None if settings == self._file.settings(self._over) else settings)
            self._file, self._own, self._policies = file, own, policies
        finally:
            self._trying = ()
        if own is not before and own is not None and before is not None:
            before.revert()
            own.apply()

    def _tell(self, why: str) -> None:
        """Say once what is wrong."""
        if why != self._told:
            self._told = why
            log.warning("spanhook: %s; the previous configuration stays active", why)


_following: list[Follower] = []


def follow(file: ConfigurationFile, own: OwnHooks | None, policies: Hooks, over: Mapping[str, Any]) -> Follower:
    """Follow a file from now on, in this process and in those that it forks; see ``Follower``."""
    for before in _following:
        before.stop()
    follower = Follower(file, own, policies, over)
    _following[:] = [follower]
    follower.start()
    return follower


def _registries(own: OwnHooks | None) -> tuple[Hooks, ...]:
    return () if own is None else own.registries


def _renew() -> None:
    for follower in _following:
        follower.renew()


after_fork("configuration", _renew)


def _signature(path: str) -> Signature:
    """What tells one state of a file from another; ``(0,)`` where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return (0,)
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def _has_terminal() -> bool:
    """Whether the process has a terminal that could hang up."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK))
    except OSError:
        return False
    return True
