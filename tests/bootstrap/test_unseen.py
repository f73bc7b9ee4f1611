"""A program of which nothing was seen says so, where a person is watching and it is certain."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.commands import HOOKS, SPANHOOK, Folder, environment

GATED = ("run", "--hooks", "./hooks.py:hooks")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


SEES_NOTHING = "spanhook: no call of a model, tool or agent was seen in this program."


def on_a_terminal(folder: Folder, *command: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = os.openpty()
    try:
        subprocess.run(
            command,
            cwd=folder.path,
            env=environment({}),
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            timeout=60,
            check=False,
        )
    finally:
        os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        written = b""
        try:
            while piece := terminal.read(4096):
                written += piece
        except OSError:  # how Linux says that nobody else has the terminal open
            pass
    return written.decode()


ENDS = {
    "nothing": ("print('done')", True),
    "a call": ("import spanhook\nspanhook.tool(lambda: 1, name='f')()", False),
    "a status": ("raise SystemExit(3)", True),
    "a failure": ("raise ValueError", False),
    "a child": ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])", False),
    "a fork": ("import os\nif os.fork() == 0: raise SystemExit\nos.wait()", False),
    "help": ("import sys\nsys.argv.append('--help')", False),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "seen"),
    [
        pytest.param(*end, id=name, marks=[] if name in ("nothing", "a call") else pytest.mark.slow)
        for name, end in ENDS.items()
    ],
)
def test_a_program_of_which_nothing_was_seen_says_so_on_a_terminal(folder: Folder, program: str, seen: bool) -> None:
    folder.write(hooks=HOOKS, app=program)

    written = on_a_terminal(folder, *SPANHOOK, *GATED, "app.py")

    assert (SEES_NOTHING in written) == seen, written
    assert written.count("spanhook: ") == seen


def test_nothing_of_it_is_said_elsewhere(folder: Folder) -> None:
    folder.write(hooks=HOOKS, app="print('done')")
    ran = folder.spanhook(*GATED, "app.py")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")
