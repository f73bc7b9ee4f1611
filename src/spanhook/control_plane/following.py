"""Follows the server in a thread: asks, checks what it says, applies it, keeps it, and tells what is in force."""

import random
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from spanhook import semconv
from spanhook.concurrency import OwnThread, begin
from spanhook.config import in_force
from spanhook.control_plane.applying import Applier
from spanhook.control_plane.cache import Cache
from spanhook.control_plane.client import Client, Unreachable
from spanhook.control_plane.reporting import Reporter
from spanhook.control_plane.sets import HookSet, SetError, opened
from spanhook.diagnostics import internal, log
from spanhook.engine import registry as active_hooks
from spanhook.errors import SpanhookError
from spanhook.gating import Measures, report_loosened

INTERVAL_S = 1.0
"""The shortest time between two questions."""
JITTER_S = 0.3
LONGEST_S = 4.0
"""The longest time between two questions while the server is away, unless it asks for more."""
AGAIN_S, LONGEST_AGAIN_S = 2.0, 300.0
"""After how long what is missing is tried again, at first and at most."""
_LONGEST_WISH_S = 60.0
_random = random.SystemRandom()
"""Not the application's generator, which may be seeded, nor one that forked children have in common."""


@dataclass(frozen=True, slots=True)
class Server:
    """The server, as the configuration file names it.

    Attributes:
        url: Its address.
        key_env: The environment variable with the API key; ``None`` for none.
        fail_mode: Whether everything is refused before the first set, or nothing.
        public_key: The key that sets must be signed with, in Base64; ``None`` if they need not be.
        tenant: The tenant that sets must be for; ``None`` for that of the first one.
    """

    url: str
    key_env: str | None = None
    fail_mode: Literal["closed", "open"] = "closed"
    public_key: str | None = None
    tenant: str | None = None


class Following:
    """Follows one server.

    Args:
        server: The server.
        cache: Where sets are kept.
        applier: What activates them.
    """

    def __init__(self, server: Server, cache: Cache, applier: Applier) -> None:
        self._server, self._cache, self._applier = server, cache, applier
        self._client = Client(server.url, server.key_env)
        self._etag = self._told = self._refused = ""
        self._failures = 0
        self._wait, self._again = AGAIN_S, 0.0
        self._heard = time.monotonic()
        self._reporter = Reporter(self._client)
        self._ended = threading.Event()
        measures = Measures("control_plane")
        self._errors = measures.counter(
            semconv.METRIC_CONTROL_PLANE_ERRORS, "{error}", "Attempts to follow the control plane that failed"
        )
        self._gauges = (
            measures.watched(
                semconv.METRIC_CONTROL_PLANE_VERSION, "{version}", "Version of the set in force", self._version
            ),
            measures.watched(
                semconv.METRIC_CONTROL_PLANE_AGE, "s", "Time since the control plane last answered", self._age
            ),
            measures.watched(
                semconv.METRIC_CONTROL_PLANE_MISSING,
                "{hook}",
                "Definitions and policies of the set that are not in force here",
                self._missing,
            ),
        )

    # ------------------------------------------------------------------------------------------ when

    def start(self) -> None:
        """Activate what is kept, or else what the server says now, and follow it from then on."""
        self._applier.begin(self._server.fail_mode)
        self._restore()
        if self._applier.now.set is None:
            self.look()
        OwnThread(self._run, "spanhook-control-plane").start()

    def stop(self) -> None:
        """Stop following. What is in force stays."""
        self._ended.set()

    def renew(self) -> None:
        """Start again in a forked child, where the thread does not run."""
        stopped = self._ended.is_set()
        self._ended = threading.Event()
        if stopped:
            self._ended.set()
            return
        self._client.renew()
        self._reporter.renew()
        if self._applier.is_half_done:
            self._etag = ""
        begin(self._run, "spanhook-control-plane")

    def _run(self) -> None:
        ended, wait = self._ended, self._pause(0.0)
        while not ended.wait(wait):
            if not in_force(self._applier.now.hooks[0]):
                ended.set()  # the application has removed all hooks
                return
            try:
                asked = self.look()
            except (Exception, SystemExit) as error:
                asked = LONGEST_S
                internal.report("control_plane", error)
            wait = self._pause(asked)

    def _pause(self, asked: float) -> float:
        """Seconds until the next question."""
        usual = min(INTERVAL_S * 2.0 ** min(self._failures, 8), LONGEST_S) if self._failures > 1 else INTERVAL_S
        return max(usual, min(asked, _LONGEST_WISH_S)) + _random.uniform(0, JITTER_S)

    # ------------------------------------------------------------------------------------------ what

    def look(self) -> float:
        """Ask the server once, and apply what it says.

        Returns:
            Seconds that the server asks to wait.
        """
        for gauge in self._gauges:
            gauge()
        try:
            answer = self._client.fetch(self._etag)
            self._heard = time.monotonic()
            if answer.content is not None:
                self._take(answer.content)
                self._etag = answer.etag
            else:
                self._try_again()
        except Unreachable as error:
            self._fail(error.kind, str(error))
            return error.retry_after
        except SetError as error:
            self._refused = self._fail("refused", f"has sent a set that {error}")
        except (Exception, SystemExit) as error:  # hooks are made, whose code may do anything
            self._refused = self._fail("apply", f"has sent a set that cannot be used here: {_said(error)}")
        else:
            if self._told:
                log.info("spanhook: the control plane %s is followed again", self._server.url)
            self._refused = self._told = ""
            self._failures = 0
        self._report()
        return 0.0

    def _take(self, content: bytes) -> None:
        given = self._checked(content)
        self._apply(given)
        self._keep(content, given)
        log.info("spanhook: version %s of the control plane is active now", given.version)

    def _apply(self, given: HookSet) -> None:
        self._wait = AGAIN_S
        self._again = time.monotonic() + self._wait
        before = dict(self._applier.now.missing)
        active = active_hooks.enforcement
        applied = self._applier.apply(given)
        report_loosened("control_plane", self._server.url, active, active_hooks.enforcement)
        for name, why in applied.missing.items():
            if before.get(name) != why:
                said = " ".join(why.split())
                log.warning("spanhook: %s of the control plane is not in force here: %s", name, said)

    def _try_again(self) -> None:
        """Look whether what is missing can be used by now: kinds and handlers may be there once all is imported."""
        now = self._applier.now
        if now.set is not None and now.missing and time.monotonic() >= self._again:
            wait = min(self._wait * 2, LONGEST_AGAIN_S)
            self._apply(now.set)
            self._wait, self._again = wait, time.monotonic() + wait

    def _checked(self, content: bytes) -> HookSet:
        server, now = self._server, self._applier.now.set
        given = opened(content, server.public_key)
        tenant = server.tenant
        if tenant is None and server.public_key is not None and now is not None:
            tenant = now.tenant
        if tenant is not None and given.tenant != tenant:
            raise SetError(f"is for the tenant {given.tenant!r}, not for {tenant!r}")
        if server.public_key is not None and now is not None and given.version < now.version:
            raise SetError(f"is older than the one in force: {given.version}, not {now.version}")
        return given

    def _restore(self) -> None:
        """Activate the set that is kept."""
        try:
            kept = self._cache.read()
            if kept is not None:
                self._apply(self._checked(kept))
        except SetError as error:
            self._fail("cache", f"has been followed before, but its copy in {self._cache.path} {error}")
        except (Exception, SystemExit) as error:
            self._fail(
                "cache", f"has been followed before, but its copy in {self._cache.path} cannot be used: {_said(error)}"
            )

    def _keep(self, content: bytes, given: HookSet) -> None:
        try:
            if not self._is_kept(content, given):
                self._cache.write(content)
        except OSError as error:
            self._errors(1, {semconv.ERROR_TYPE: "cache"})
            log.warning("spanhook: the set of the control plane cannot be kept in %s: %s", self._cache.path, error)

    def _is_kept(self, content: bytes, given: HookSet) -> bool:
        """Whether another process with the same file has kept this set, or a later one.

        Without a public key there is no later one: versions begin anew where the server's database is replaced.
        """
        try:
            kept = self._cache.read()
            if kept is None or self._server.public_key is None:
                return kept == content
            known = opened(kept, self._server.public_key)
        except SetError:
            return False
        return known.tenant == given.tenant and known.version >= given.version

    def _fail(self, kind: str, why: str) -> str:
        """Count a failure, and log it once. Returns the reason."""
        self._failures += 1
        self._errors(1, {semconv.ERROR_TYPE: kind})
        if why != self._told:
            self._told = why
            log.warning("spanhook: the control plane %s %s; %s", self._server.url, why, self._state)
        return why

    @property
    def _state(self) -> str:
        now = self._applier.now.set
        if now is not None:
            return f"version {now.version} stays active"
        return "all operations are refused" if self._server.fail_mode == "closed" else "none of its hooks is active"

    # ------------------------------------------------------------------------------------------ telling

    def finish(self) -> None:
        """Stop, and tell what hooks did since the last report: the process is about to end."""
        if not self._ended.is_set() and not self._failures:
            self._ended.set()
            self._report(ending=True)

    def _report(self, *, ending: bool = False) -> None:
        try:
            self._reporter.tell(self._applier.now, self._refused, ending=ending)
        except Unreachable as error:  # what is in force does not depend on it
            self._errors(1, {semconv.ERROR_TYPE: f"report_{error.kind}"})

    def _version(self) -> Iterable[tuple[float, dict[str, Any]]]:
        now = self._applier.now.set
        yield (0 if now is None else now.version), {}

    def _age(self) -> Iterable[tuple[float, dict[str, Any]]]:
        yield time.monotonic() - self._heard, {}

    def _missing(self) -> Iterable[tuple[float, dict[str, Any]]]:
        yield len(self._applier.now.missing), {}


def _said(error: BaseException) -> str:
    said = str(error) if isinstance(error, SpanhookError) else f"{type(error).__name__}: {error}"
    return " ".join(said.split())
