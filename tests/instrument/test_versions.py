"""The installed version of a distribution: read once, and again where something was installed or removed."""

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from spanhook.instrument import _versions
from spanhook.instrument._versions import one_moment, version

NAME = "spanhook-stand-in"
LONG_AGO = 1_700_000_000


class Asked:
    """Counts who asks for metadata."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, name: str) -> str:
        self.names.append(name)
        return metadata.distribution(name).version


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    counting = Asked()
    monkeypatch.setattr(metadata, "version", counting)
    monkeypatch.setattr(_versions, "_read", None)
    return counting


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is alone on the path, and has been as it is for long."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    settle(tmp_path)
    return tmp_path


def settle(folder: Path, ago: int = 0) -> None:
    os.utime(folder, (LONG_AGO - ago, LONG_AGO - ago))


def install(folder: Path, number: str) -> None:
    for earlier in folder.glob("*.dist-info"):
        (earlier / "METADATA").unlink()
        earlier.rmdir()
    info = folder / f"{NAME.replace('-', '_')}-{number}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {number}\n")


def test_it_is_read_once(folder: Path, asked: Asked) -> None:
    install(folder, "1.0")
    settle(folder, 1)
    assert [version(NAME) for _ in range(3)] == ["1.0"] * 3
    assert asked.names == [NAME]


def test_it_is_read_again_where_something_was_installed(folder: Path, asked: Asked) -> None:
    for _ in range(2):
        with pytest.raises(metadata.PackageNotFoundError):
            version(NAME)
    assert asked.names == [NAME]
    for ago, number in enumerate(("1.0", "2.0"), 1):
        install(folder, number)
        settle(folder, ago)
        assert version(NAME) == version(NAME) == number
    assert len(asked.names) == 3


def test_it_is_read_each_time_while_its_folder_may_be_changing(folder: Path, asked: Asked) -> None:
    install(folder, "1.0")
    assert version(NAME) == version(NAME) == "1.0"
    assert len(asked.names) == 2


def test_another_path_has_its_own(folder: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder / "other"
    other.mkdir()
    install(other, "3.0")
    settle(other)
    settle(folder)
    with pytest.raises(metadata.PackageNotFoundError):
        version(NAME)
    monkeypatch.setattr("sys.path", [str(folder), str(other)])
    assert version(NAME) == "3.0"
    monkeypatch.setattr("sys.path", ["", str(folder / "gone")])
    monkeypatch.chdir(other)
    assert version(NAME) == "3.0"
    monkeypatch.chdir(folder)
    with pytest.raises(metadata.PackageNotFoundError):
        version(NAME)


def test_a_finder_of_somebody_elses_is_asked_each_time(
    folder: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Finder:
        """Knows distributions of its own."""

        def find_spec(self, *_: object) -> None: ...

        def find_distributions(self, _context: metadata.DistributionFinder.Context) -> list[metadata.Distribution]:
            return []

    install(folder, "1.0")
    settle(folder)
    monkeypatch.setattr("sys.meta_path", [Finder(), *sys.meta_path])
    assert version(NAME) == version(NAME) == "1.0"
    assert len(asked.names) == 2


def test_versions_of_one_moment_are_those_of_its_beginning(folder: Path, asked: Asked) -> None:
    install(folder, "1.0")
    settle(folder, 1)
    with one_moment():
        assert version(NAME) == "1.0"
        install(folder, "2.0")
        settle(folder, 2)
        assert version(NAME) == "1.0"
        with one_moment():
            assert version(NAME) == "1.0"
    assert version(NAME) == "2.0"
    assert asked.names == [NAME] * 2
