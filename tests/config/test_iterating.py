"""Settings of iterations in a configuration file."""

from pathlib import Path

import pytest

import spanhook
from spanhook import ConfigurationError
from spanhook.config import load_file
from spanhook.errors import ConfigurationFileError
from spanhook.iterations import HookConfig, MemoryFrames, SQLiteFrames


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_settings_and_store_are_those_of_the_file(here: Path) -> None:
    (here / "spanhook.yaml").write_text(
        """
        stores: {default: "memory://", frames: "sqlite:///frames.db"}
        iterations: {context_frames: 5, on_error: false}
        """
    )
    hooks = spanhook.iteration_hooks()
    assert hooks.config == HookConfig(context_frames=5, on_error=False)
    assert isinstance(hooks.store, SQLiteFrames)
    with hooks.store:
        hooks.on_iteration_end("s", 0, success=True, output="done")
        assert hooks.statistics("s").iterations == 1
    assert (here / "frames.db").exists()


@pytest.mark.parametrize("text", [None, "version: 1"])
def test_without_them_frames_are_in_memory(here: Path, text: str | None) -> None:
    if text is not None:
        (here / "spanhook.yaml").write_text(text)
    hooks = spanhook.iteration_hooks()
    assert (hooks.config, type(hooks.store)) == (HookConfig(), MemoryFrames)


def test_another_file_is_named(here: Path) -> None:
    (here / "other.yaml").write_text("iterations: {enabled: false}")
    assert spanhook.iteration_hooks("other.yaml").config == HookConfig(enabled=False)


def test_a_store_that_cannot_keep_frames_is_refused(here: Path) -> None:
    (here / "spanhook.yaml").write_text("stores: {default: redis://127.0.0.1:1}")
    with pytest.raises(ConfigurationError, match=r"^spanhook.yaml:1: .* cannot keep frames .*; set stores.frames to"):
        spanhook.iteration_hooks()


def test_mistakes_are_named_with_their_lines(here: Path) -> None:
    file = here / "spanhook.yaml"
    file.write_text("iterations:\n  context_frames: 1001\n  on_start: true\n  on_error: 1\n")
    with pytest.raises(ConfigurationFileError) as caught:
        load_file(str(file))
    assert [(one.line, one.key) for one in caught.value.mistakes] == [
        (2, "iterations.context_frames"),
        (3, "iterations.on_start"),
        (4, "iterations.on_error"),
    ]


def test_every_setting_is_there() -> None:
    from spanhook.config.models import IterationsEntry

    assert set(IterationsEntry.model_fields) == set(HookConfig.__dataclass_fields__)
