import os
import stat
from pathlib import Path

import pytest

from spanhook.control_plane.cache import Cache
from spanhook.control_plane.sets import LARGEST, SetError


def test_what_is_written_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "new" / "kept.json"))
    assert cache.read() is None
    for content in (b"one", b"two"):
        cache.write(content)
        assert cache.read() == content
    assert stat.S_IMODE(os.stat(cache.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "new").st_mode) == 0o700
    assert os.listdir(tmp_path / "new") == ["kept.json"]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(str(tmp_path / "kept.json"))
    cache.write(b"one")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        cache.write(b"two")
    assert cache.read() == b"one"
    assert os.listdir(tmp_path) == ["kept.json"]


def test_what_others_may_have_written_is_refused(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "kept.json"))
    cache.write(b"one")
    os.chmod(cache.path, 0o620)
    with pytest.raises(SetError, match="only this user can write"):
        cache.read()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder"):
        with pytest.raises(SetError):
            Cache(str(tmp_path / name)).read()


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "kept.json").open("wb") as opened:
        opened.truncate(LARGEST + 1)
    os.chmod(tmp_path / "kept.json", 0o600)
    with pytest.raises(SetError, match="has more than"):
        Cache(str(tmp_path / "kept.json")).read()
