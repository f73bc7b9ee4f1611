"""Processes that start with a file that was cut short after their parent had read it whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from spanhook.config.completeness import END_MARK, IncompleteFileError
from spanhook.config.inheriting import VARIABLE, bequeath, check_inherited
from spanhook.config.reading import Document, read

WHOLE = "version: 1\npolicies:\n  - {use: tool_policy, id: a, with: {rules: [{deny: [danger]}]}}\n"
CUT = "version: 1\n"


@pytest.fixture(autouse=True)
def _no_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")


def written(path: Path, text: str) -> Document:
    path.write_text(text)
    return read(str(path))


def test_without_the_end_mark_that_the_parent_has_seen_a_process_does_not_start(tmp_path: Path) -> None:
    path = tmp_path / "a file.yaml"
    bequeath(written(path, WHOLE + "...\n"))
    check_inherited(written(path, WHOLE + "...\n"))
    check_inherited(written(path, CUT + "...\n"))
    with pytest.raises(
        IncompleteFileError, match="as the one that is active in the parent process does; if it is whole"
    ):
        check_inherited(written(path, CUT))
    check_inherited(written(tmp_path / "other.yaml", CUT))


def test_without_any_mark_another_content_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "spanhook.yaml"
    bequeath(written(path, WHOLE))
    check_inherited(written(path, WHOLE))
    check_inherited(written(path, WHOLE + "...\n"))
    assert caplog.messages == []
    check_inherited(written(path, CUT))
    (line,) = caplog.messages
    assert "is not the one that is active in the parent process, and may have been cut short" in line
    assert line.endswith("if it is whole, end it with the line ...")


def test_toml_has_no_mark_so_other_content_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "spanhook.toml"
    bequeath(written(path, "version = 1\nmode = 'shadow'\n"))
    check_inherited(written(path, "version = 1\nmode = 'shadow'\n"))
    assert caplog.messages == []
    check_inherited(written(path, "version = 1\n"))
    (line,) = caplog.messages
    assert "is not the one that is active in the parent process, and may have been cut short" in line
    assert END_MARK not in line


def test_json_is_always_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "spanhook.json"
    bequeath(written(path, '{"version": 1, "mode": "shadow"}'))
    check_inherited(written(path, '{"version": 1}'))
    assert caplog.messages == []


def test_nobody_is_asked_where_there_is_no_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = written(tmp_path / "spanhook.yaml", CUT)
    for value in ("", "nonsense", f"x 1 {tmp_path}"):
        monkeypatch.setenv(VARIABLE, value)
        check_inherited(document)


APP = """
import os, subprocess, sys, time, spanhook

@spanhook.tool("danger")
def danger(): return "ran"

def called():
    try: return danger()
    except spanhook.Reject: return "refused"

if "child" in sys.argv:
    print("child", called(), flush=True)
    sys.exit()

print("parent", called(), flush=True)
open("spanhook.yaml", "w").write(open("cut").read())
ended = subprocess.run([sys.executable, "app.py", "child"])
print("ended", ended.returncode, flush=True)
pid = os.fork()
time.sleep(2.5)
os.write(1, f"{'forked' if pid == 0 else 'parent'} {called()}{os.linesep}".encode())  # in one piece
if pid: os.waitpid(pid, 0)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "child"),
    [("...\n", ["ended 2"]), pytest.param("", ["child ran", "ended 0"], marks=pytest.mark.slow)],
)
def test_children_of_a_process_that_keeps_its_gates(tmp_path: Path, end: str, child: list[str]) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "spanhook.yaml").write_text(WHOLE + end)
    (tmp_path / "cut").write_text(CUT)
    spanhook = str(Path(sys.executable).with_name("spanhook"))
    ran = subprocess.run(
        [spanhook, "run", "app.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    lines = ran.stdout.splitlines()
    assert lines[: 1 + len(child)] == ["parent refused", *child]
    assert sorted(lines[1 + len(child) :]) == ["forked refused", "parent refused"]
    # The started child and the parent; the forked one too, unless the parent had warned before.
    assert ran.stderr.count("may have been cut short") in (2, 3)
