"""Following a configuration file while the application runs: a change applies as a whole or not at all.

A thread checks the file once a second, and at once on SIGHUP unless the application handles that signal. A file that is
missing, invalid or cut short changes nothing and is reported once.
"""

import hashlib
import os
import queue
import signal
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from spanhook.concurrency import OwnThread, begin
from spanhook.config.completeness import IncompleteFileError
from spanhook.config.file import ConfigurationFile, load_file
from spanhook.config.inheriting import bequeath
from spanhook.config.instrumenting import exchange, in_force
from spanhook.config.own_hooks import OwnHooks, load_own
from spanhook.config.presence import Presence
from spanhook.config.reading import content_of, shown
from spanhook.config.reporting import refusals
from spanhook.diagnostics import log
from spanhook.engine import registry
from spanhook.errors import ConfigurationError, ConfigurationFileError, SpanhookError
from spanhook.fork import after_fork
from spanhook.gating import Hooks, report_loosened

INTERVAL_S = 1.0

_FIXED = "cannot change while the application runs; start it again"
Signature = tuple[int, ...]
_UNKNOWN: Signature = ()


class Follower:
    """Applies changes of a configuration file.

    Args:
        file: The file as it is active.
        own: The hooks that it names; ``None`` if an option or a variable names others instead.
        policies: The hooks of its policies.
        over: Settings from options and variables, which override those of the file.
        kept: Hooks that another file names as well, which stay active whatever becomes of this one.
    """

    def __init__(
        self,
        file: ConfigurationFile,
        own: OwnHooks | None,
        policies: Hooks,
        over: Mapping[str, Any],
        kept: Sequence[Hooks] = (),
    ) -> None:
        self._file: ConfigurationFile = file
        self._own, self._policies, self._over, self._kept = own, policies, over, kept
        self._trying: tuple[Hooks, ...] = ()
        """What is being activated right now; a fork may find it half done."""
        self._remote: Mapping[str, Any] = {}
        self._lock = threading.Lock()
        """Held while something is being activated."""
        self._known = self._seen = _UNKNOWN
        self._told = ""
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._stopped = False
        self._terminal = _has_terminal()
        self._presence: Presence | None = None
        """Set once it follows the file."""

    # ------------------------------------------------------------------------------------------ when

    def start(self) -> None:
        """Start to follow the file."""
        self._presence = Presence()
        self._show()
        OwnThread(self._watch, "spanhook-configuration").start()

    def ask(self) -> None:
        """Have the thread read the file now. This is safe in a signal handler."""
        self._asked.put(True)

    def stop(self) -> None:
        """Stop following the file."""
        self._stopped = True
        if self._presence is not None:
            self._presence.end()
        self._asked.put(False)

    def renew(self) -> None:
        """Start again in a forked child, where the thread does not run."""
        self._lock = threading.Lock()
        if self._presence is not None:
            self._presence.renew()  # also of one that is being stopped: a thread may hold its lock
        if not self._stopped:
            self._asked = queue.SimpleQueue()
            self._known = self._seen = _UNKNOWN
            self._show()
            begin(self._watch, "spanhook-configuration")

    def _watch(self) -> None:
        asked = self._asked
        while not self._stopped:
            try:
                now = asked.get(timeout=INTERVAL_S)
            except queue.Empty:
                now = False
            if self._stopped:
                return
            if not in_force(self._policies):
                self._stopped = True  # the application has removed all hooks
            elif now:
                self.reload()
            else:
                self.look()

    @property
    def file(self) -> ConfigurationFile:
        """The file as it is active."""
        return self._file

    @property
    def takes_signals(self) -> bool:
        """Whether SIGHUP is for the file: it is followed, and no terminal of the process has been closed."""
        return not self._stopped and (not self._terminal or _has_terminal())

    def look(self) -> None:
        """Apply the file if it has changed, and has stayed the same since the last look.

        A file that is being written may be valid but still lack some policies.
        """
        if self._presence is not None:
            self._presence.show_tools()
        found = _signature(self._file.path)
        settled = found == self._seen
        self._seen = found
        if settled and found != self._known:
            self.reload()

    # ------------------------------------------------------------------------------------------ what

    def reload(self) -> bool:
        """Read the file now and apply it.

        Returns:
            Whether anything changed.
        """
        self._known = _signature(self._file.path)
        try:
            if not self._trying and content_of(self._file.path) == self._file.document.content:
                self._told = ""
                self._show()
                return False
            file = load_file(self._file.path, self._file.policies, active=self._file.document)
            with self._lock:
                before = registry.enforcement
                self._apply(file)
        except BaseException as error:  # code that is imported may even exit
            self._refuse(error)
            return False
        self._told = ""
        self._show()
        log.info("spanhook: %s has changed and is active now", shown(file.path))
        report_loosened("file", shown(file.path), before, registry.enforcement)
        return True

    def _apply(self, file: ConfigurationFile) -> None:
        over = {**self._remote, **self._over}
        settings, earlier = file.settings(over), self._file.settings(over)
        for part in ("bind", "control_plane", "cron", "iterations"):
            if getattr(file.configuration, part) != getattr(self._file.configuration, part):
                raise ConfigurationFileError([file.document.mistake((part,), _FIXED)])
        if settings.definitions_dir != earlier.definitions_dir:
            raise ConfigurationFileError([file.document.mistake(("settings", "definitions_dir"), _FIXED)])
        before, policies = self._own, file.registry()
        own = before
        if own is not None and file.configuration.hooks != self._file.configuration.hooks:
            own = load_own(file, before)
        out = [one for one in (*_registries(before), self._policies, *self._trying) if one not in self._kept]
        self._trying = (*_registries(own), policies)
        try:
            exchange(out, self._trying, None if settings == earlier else settings)
            self._file, self._own, self._policies = file, own, policies
        finally:
            self._trying = ()
        if own is not before and own is not None and before is not None:
            before.revert()
            own.apply()

    def join(self, out: Sequence[Hooks], into: Sequence[Hooks], remote: Mapping[str, Any]) -> None:
        """Activate hooks from elsewhere beside those of the file, with settings that override the file's.

        Args:
            out: The registries that were activated so before.
            into: The registries to activate.
            remote: The settings. Options and variables override them.

        Raises:
            ConfigurationError: They cannot be used. Nothing has changed.
            RequirementError: As ``exchange``.
        """
        with self._lock:
            settings = self._file.settings({**remote, **self._over})
            earlier = self._file.settings({**self._remote, **self._over})
            exchange(out, into, None if settings == earlier else settings)
            self._remote = dict(remote)

    def _show(self, refused: str = "") -> None:
        """Say to others which content is active, and why the file is not applied as it is now."""
        if self._presence is not None:
            self._presence.show(self._file.document, refused)
            bequeath(self._file.document)

    def _refuse(self, error: BaseException) -> None:
        """Report why the file is not applied, once for each content."""
        said = str(error) if isinstance(error, SpanhookError) else f"{type(error).__name__}: {error}"
        why = " ".join(said.split())
        report = f"{_digest(self._file.path)} {why}"
        if report != self._told:
            self._told = report
            self._show(why)
            refusals.report(self._file.path, "incomplete" if isinstance(error, IncompleteFileError) else "invalid", why)


_following: list[Follower] = []


def follow(
    file: ConfigurationFile,
    own: OwnHooks | None,
    policies: Hooks,
    over: Mapping[str, Any],
    kept: Sequence[Hooks] = (),
) -> Follower:
    """Follow a file, in this process and in those that it forks; see ``Follower``."""
    for before in _following:
        before.stop()
    follower = Follower(file, own, policies, over, kept)
    _following[:] = [follower]
    follower.start()
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _on_signal)
    return follower


def followed() -> ConfigurationFile | None:
    """The file that is active and followed; ``None`` if there is none."""
    return _following[-1].file if _following and not _following[-1]._stopped else None


def _on_signal(number: int, _frame: FrameType | None) -> None:
    """Have the file read. If the signal is for something else, it ends the process, as it would without a handler."""
    if any(follower.takes_signals for follower in _following):
        for follower in _following:
            follower.ask()
    else:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _registries(own: OwnHooks | None) -> tuple[Hooks, ...]:
    return () if own is None else own.registries


def _renew() -> None:
    for follower in _following:
        follower.renew()


after_fork("configuration", _renew)


def _signature(path: str) -> Signature:
    """Identifies a state of a file; ``(0,)`` if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return (0,)
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def _digest(path: str) -> str:
    """Identifies the content of a file; empty if it cannot be read."""
    try:
        return hashlib.sha256(content_of(path)).hexdigest()
    except ConfigurationError:
        return ""


def _has_terminal() -> bool:
    """Whether the process has a terminal, which may be closed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK))
    except OSError:
        return False
    return True
