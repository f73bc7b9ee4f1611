"""A folder with configuration files, in which ready-made hooks are installed that files may name."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rules import install

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file, in the folder that is the working directory too, and gives its path."""
    monkeypatch.syspath_prepend(install(tmp_path / "installed"))
    monkeypatch.chdir(tmp_path)

    def writer(text: str, name: str = "spanhook.yaml") -> str:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        return str(path)

    return writer
