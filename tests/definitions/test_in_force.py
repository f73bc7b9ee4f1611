"""The registry of the process, and the directory that settings name."""

from pathlib import Path

import pytest

from spanhook import ConfigurationError, Settings
from spanhook.definitions import HookRegistry, get_registry, in_force, set_registry
from spanhook.testing import recorder
from tests.definitions.parts import ACME, call, search
from tests.definitions.test_directory import ONE


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_force, "_registry", None)


def test_definitions_of_the_directory_in_the_settings_are_in_force(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    set_registry(HookRegistry(allowed=[ACME]))
    for _ in range(2):
        with recorder(settings=Settings(definitions_dir=str(tmp_path))):
            assert search([]).invoke(call()).content == "found x?"
        assert search([]).invoke(call()).content == "found x"
    assert [one.name for one in get_registry().registered()] == ["one"]


@pytest.mark.parametrize("allowed", [ACME, f"{ACME}:Suffix", "tests"])
def test_settings_allow_classes_of_the_application(tmp_path: Path, allowed: str) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    with recorder(settings=Settings(definitions_dir=str(tmp_path), definitions_allow=[allowed])):
        assert search([]).invoke(call()).content == "found x?"


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (
            "acme.other",
            f"is not allowed, .*, acme.other. .* Settings\\(definitions_allow=\\['{ACME}'",
        ),
        ("./acme.py", "definitions_allow has './acme.py'; expected a module"),
    ],
)
def test_settings_allow_nothing_else(tmp_path: Path, allowed: str, said: str) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    with (
        pytest.raises(ConfigurationError, match=said),
        recorder(settings=Settings(definitions_dir=str(tmp_path), definitions_allow=[allowed])),
    ):
        raise AssertionError("it started")


def test_definitions_that_cannot_be_used_leave_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    with (
        pytest.raises(ConfigurationError, match="is not allowed"),
        recorder(settings=Settings(definitions_dir=str(tmp_path))),
    ):
        raise AssertionError("it started")
    assert get_registry().count() == 0
    with recorder() as seen:
        assert search([]).invoke(call()).content == "found x"
    assert len(seen.operations) == 1


def test_there_is_one_registry_of_the_process() -> None:
    assert get_registry() is get_registry()
    with pytest.raises(ConfigurationError, match="is not a HookRegistry"):
        set_registry("registry")  # pyright: ignore[reportArgumentType]
