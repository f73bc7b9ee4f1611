"""LiteLLM without what only its own extras bring: parts of it cannot be imported, and nobody can call them."""

import subprocess
import sys

WITHOUT_A2A = "import sys; sys.modules['a2a'] = None; "
ROWS = "from spanhook.cli.conformance.matrix import rows; print({row.subject for row in rows('litellm')})"


def ran(code: str) -> str:
    given = [sys.executable, "-W", "ignore", "-c", WITHOUT_A2A + code]
    done = subprocess.run(given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_can_be_required() -> None:
    assert ran("import spanhook; spanhook.instrument(require=['litellm']); print('here')") == "here\n"


def test_the_doctor_finds_it_ready() -> None:
    said = ran("from spanhook.cli import main; sys.argv[1:] = ['doctor', '--require', 'litellm']; main()")
    assert said.splitlines()[-1].startswith("ready: ")


def test_conformance_does_not_try_what_it_lacks() -> None:
    subjects = ran(ROWS)
    assert "over openai" in subjects
    assert "A2A" not in subjects
