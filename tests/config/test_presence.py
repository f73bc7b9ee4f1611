"""Which processes follow a file, as others of the same user see it."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanhook.config.presence import FollowingProcess, Presence, following
from spanhook.config.reading import Document, read
from spanhook.model import ungated_tools


@pytest.fixture
def document(tmp_path: Path) -> Document:
    path = tmp_path / "spanhook.yaml"
    path.write_text("version: 1\n...\n")
    return read(str(path))


@pytest.fixture(autouse=True)
def tools() -> Iterator[None]:
    """No tool has been found to run without a gate."""
    ungated_tools.renew()
    yield
    ungated_tools.renew()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"spanhook-{os.getuid()}"


@pytest.fixture
def presence() -> Iterator[Presence]:
    presence = Presence()
    yield presence
    presence.end()


def test_a_process_shows_what_is_active(document: Document, presence: Presence, folder: Path) -> None:
    assert following(document.path) == []
    presence.show(document, "it has a mistake")
    assert following(document.path) == [
        FollowingProcess(os.getpid(), document.path, document.digest, "it has a mistake")
    ]
    presence.show(document)
    assert following(document.path) == [FollowingProcess(os.getpid(), document.path, document.digest)]
    assert following("/another/file.yaml") == []
    presence.end()
    assert following(document.path) == []
    assert list(folder.iterdir()) == []


def test_a_process_shows_the_tools_that_it_runs_without_a_gate(document: Document, presence: Presence) -> None:
    presence.show_tools()  # nothing is shown yet
    presence.show(document, "it has a mistake")
    ungated_tools.sent([("call_1", "bash")], 3)
    presence.show_tools()
    (shown,) = following(document.path)
    assert (shown.ungated, shown.refused) == (("bash",), "it has a mistake")


def test_it_ends_while_another_thread_writes(
    document: Document, presence: Presence, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, ending = os.pwrite, threading.Thread(target=presence.end)

    def interrupted(descriptor: int, content: bytes, offset: int) -> int:
        monkeypatch.setattr(os, "pwrite", write)
        ending.start()
        ending.join(0.1)  # it waits until this is written
        return write(descriptor, content, offset)

    presence.show(document)
    monkeypatch.setattr(os, "pwrite", interrupted)
    presence.show(document, "it has a mistake")
    ending.join()
    presence.show(document)
    assert list(folder.iterdir()) == []


def test_what_dead_processes_left_is_removed(document: Document, folder: Path) -> None:
    program = f"""
import os, tempfile
tempfile.tempdir = {str(folder.parent)!r}
from spanhook.config.presence import Presence
from spanhook.config.reading import read
Presence().show(read({document.path!r}))
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert len(list(folder.iterdir())) == 1
    assert following(document.path) == []
    assert list(folder.iterdir()) == []


def test_a_forked_child_shows_itself_and_leaves_the_parent(document: Document, presence: Presence) -> None:
    presence.show(document)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        presence.renew()
        presence.show(document)
        os.write(writing, repr([one.pid for one in following(document.path)]).encode())
        os._exit(0)
    seen = os.read(reading, 1000).decode()
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    assert seen == repr(sorted([os.getpid(), child]))
    assert [one.pid for one in following(document.path)] == [os.getpid()]


@pytest.mark.parametrize("spoil", ["link", "file", "open to all"])
def test_a_folder_of_somebody_else_is_not_used(
    document: Document, presence: Presence, folder: Path, spoil: str
) -> None:
    if spoil == "link":
        (folder.parent / "elsewhere").mkdir()
        folder.symlink_to(folder.parent / "elsewhere")
    elif spoil == "file":
        folder.write_text("")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    presence.show(document)
    assert following(document.path) == []
    if spoil == "link":
        assert list((folder.parent / "elsewhere").iterdir()) == []


def test_what_cannot_be_read_is_left_out(document: Document, presence: Presence, folder: Path) -> None:
    presence.show(document)
    (shown,) = folder.iterdir()
    shown.write_text("{")
    assert following(document.path) == []
