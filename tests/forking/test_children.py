"""A forked child differs from an interpreter that has just started in what it has imported alone."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forking import children

SEEN = """
import json, os, sys
print(json.dumps([
    sys.argv, sys.path, __name__, globals().get("__file__"), os.getcwd(), dict(os.environ), sys.stdin.read(),
    sys.modules["__main__"].__dict__ is globals(),
]))
"""


@pytest.mark.parametrize("how", [["-c", SEEN], ["-m", "seen"], ["./seen.py"], ["-W", "error", "-c", SEEN]])
def test_it_sees_what_a_program_sees(tmp_path: Path, how: list[str]) -> None:
    (tmp_path / "seen.py").write_text(SEEN)
    env = {"PYTHONPATH": "one:two", "A": "b", "LC_CTYPE": "C.UTF-8"}

    forked = children.run(*how, "x", "-y", cwd=tmp_path, env=env, stdin="typed")
    started = subprocess.run(
        [sys.executable, *how, "x", "-y"],
        cwd=tmp_path,
        env=env,
        input="typed",
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(forked.stdout) == json.loads(started.stdout)
    assert (forked.returncode, forked.stderr) == (0, "")


ENDS = """
import atexit, sys, threading, time
atexit.register(print, "at exit")
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
{}
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "sys.exit(7)", "sys.exit('no')", "1 / 0"])
def test_it_ends_as_a_program_ends(end: str) -> None:
    forked = children.run("-c", ENDS.format(end))
    started = subprocess.run([sys.executable, "-c", ENDS.format(end)], capture_output=True, text=True, check=False)

    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    # From CPython 3.13 on, a traceback shows lines of code that was an argument.
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]
    assert "forking" not in forked.stderr


def test_signals_reach_it() -> None:
    with children.Piped("-c", "import os, signal\nprint(os.getpid(), flush=True)\nsignal.pause()") as child:
        assert int(child.stdout.readline()) == child.pid
        assert child.poll() is None
        child.send_signal(signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM


def test_warnings_are_what_was_asked_for() -> None:
    code = "import warnings\nwarnings.warn('x', DeprecationWarning)\nwarnings.warn('y', UserWarning)"
    assert children.run("-W", "error", "-c", code).returncode == 1
    ignoring = children.run("-W", "error", "-W", "ignore::DeprecationWarning", "-c", code)
    assert ignoring.stderr.endswith("UserWarning: y\n")
