"""Dry runs in child processes: few at a time, each with limits of time, memory and output, and few variables."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, cast

from spanhook.definitions import HookDefinition
from spanhook.server.problems import Problem
from spanhook.server.settings import ServerSettings

_LARGEST = 1024 * 1024
_STARTING_S = 20.0
_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH")


class DryRuns:
    """Runs definitions on sample contexts.

    Args:
        settings: How many there may be, and how long each may take.
        allowed: Modules and references that ``handler_ref`` may name.
    """

    def __init__(self, settings: ServerSettings, allowed: list[str] | None) -> None:
        self._most, self._timeout, self._allowed = settings.dry_runs, settings.dry_run_timeout, allowed
        self._running = 0

    async def run(self, definition: HookDefinition, sample: Mapping[str, Any]) -> dict[str, Any]:
        """Run a definition on a sample context.

        Returns:
            ``results`` and ``context_after``, as in ``spanhook.dry_run.Outcome``.

        Raises:
            Problem: There are too many already, the sample cannot be used, or it took too long or ended badly.
        """
        if self._running >= self._most:
            raise Problem(
                "too_many_dry_runs", f"{self._most} dry runs are running already", headers={"Retry-After": "1"}
            )
        self._running += 1
        try:
            with tempfile.TemporaryDirectory(prefix="spanhook-") as folder:
                return await self._in_child(definition, sample, folder)
        finally:
            self._running -= 1

    async def _in_child(self, definition: HookDefinition, sample: Mapping[str, Any], folder: str) -> dict[str, Any]:
        asked = json.dumps(
            {
                "definition": definition.model_dump(mode="json", exclude_unset=True),
                "sample": sample,
                "allowed": self._allowed,
                "seconds": self._timeout,
            }
        )
        # Files, not pipes: asyncio waits until a pipe has been read to its end and every process has closed it.
        with tempfile.TemporaryFile() as request, tempfile.TemporaryFile() as answer:
            request.write(asked.encode())
            request.seek(0)
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "spanhook.dry_run",
                stdin=request,
                stdout=answer,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=folder,
                env=_environment(),
                start_new_session=True,
            )
            try:
                async with asyncio.timeout(_STARTING_S + self._timeout):
                    await child.wait()
            except TimeoutError:
                raise Problem("invalid", f"the hook took longer than {self._timeout:g} s, and was stopped") from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
            answer.seek(0)
            out = answer.read(_LARGEST + 1)
        if len(out) > _LARGEST:
            raise Problem("invalid", f"the context after the dry run is larger than {_LARGEST} bytes")
        return _outcome(out, child.returncode)


def _outcome(out: bytes, code: int | None) -> dict[str, Any]:
    try:
        found: Any = json.loads(out)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Problem("invalid", f"the hook's process has ended with code {code}, before the dry run was done")
    outcome = cast("dict[str, Any]", found)
    if "error" in outcome:
        raise Problem("invalid", str(outcome["error"]))
    return outcome


def _environment() -> dict[str, str]:
    """What a handler may know of the server's environment: no secrets."""
    kept = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OTEL_SDK_DISABLED": "true"}
