"""A child process that measures one variant, from the parent's side."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from benchmarks.variants import Variant

ROOT = Path(__file__).parent.parent
_MISLEADING = ("OTEL_", "SPANHOOK_", "LANGCHAIN_", "LANGSMITH_", "OPENAI_")


class ChildError(Exception):
    """A child died; its standard error is the message."""


def environment() -> dict[str, str]:
    """This process's variables, without those that would change what is measured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_MISLEADING)}
    return {**kept, "PYTHONHASHSEED": "0"}


class Process:
    """One child. It is started at once and answers in order.

    Args:
        case: The name of a case.
        variant: How to set up the process.
        core: The core to pin it to; below zero for none.
    """

    def __init__(self, case: str, variant: Variant, core: int) -> None:
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed on exit
        self._waiting = True
        self._child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.child", case, json.dumps(variant.as_json()), str(core)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(),
            cwd=ROOT,
            text=True,
        )

    def ask(self, command: str, *arguments: Any) -> Any:
        """Send a command to the child and return its answer.

        Raises:
            ChildError: The child died.
        """
        assert self._child.stdin is not None
        if self._waiting:
            self._waiting = False
            self._answer()
        self._child.stdin.write(json.dumps([command, *arguments]) + "\n")
        self._child.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            self._child.wait()
            self._errors.seek(0)
            raise ChildError(self._errors.read() or f"the child ended with code {self._child.returncode}")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.communicate()
        self._errors.close()
