"""References: what is not allowed is never imported, and only marked classes of that very module are taken."""

import sys
from importlib import metadata
from pathlib import Path

import pytest

from spanhook import ConfigurationError
from spanhook.definitions.handler_refs import AllowList
from tests.definitions import acme_hooks
from tests.definitions.parts import ACME


def test_a_marked_class_is_loaded() -> None:
    assert AllowList([ACME]).load(f"{ACME}:Suffix").cls is acme_hooks.Suffix
    assert AllowList([f"{ACME}:Suffix"]).load(f"{ACME}:Suffix").cls is acme_hooks.Suffix
    assert AllowList(["tests"]).load(f"{ACME}:Suffix").cls is acme_hooks.Suffix


@pytest.mark.parametrize("reference", ["os:system", "tests.definitions_other:X", "antigravity:X", f"{ACME}:Never"])
def test_what_is_not_allowed_is_refused(reference: str) -> None:
    with pytest.raises(ConfigurationError, match="is not allowed, and was not imported"):
        AllowList([f"{ACME}:Suffix", "tests.definitions"] if "other" in reference else [f"{ACME}:Suffix"]).load(
            reference
        )


def test_nothing_is_imported_before_it_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sprung.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError, match="not allowed"):
        AllowList([ACME]).load("sprung:Trap")
    assert "sprung" not in sys.modules


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Missing", "has no 'Missing'"),
        ("Unmarked", "not marked as a hook; decorate the class with @handler"),
        ("RAN", "not marked as a hook"),
        ("Borrowed", "not marked as a hook"),
    ],
)
def test_only_marked_classes_are_taken(name: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        AllowList([ACME]).load(f"{ACME}:{name}")
    assert said in str(raised.value)


def test_a_class_that_is_defined_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "borrowing.py").write_text(f"from {ACME} import Suffix\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError, match=f"defined in {ACME}; write '{ACME}:Suffix'"):
        AllowList(["borrowing"]).load("borrowing:Suffix")


@pytest.mark.parametrize("body", ["raise ValueError('no')", "import nothing_of_the_kind", "def ("])
def test_a_module_that_cannot_be_imported_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    (tmp_path / "breaking.py").write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "breaking", raising=False)
    with pytest.raises(ConfigurationError, match="'breaking:X' cannot be imported"):
        AllowList(["breaking"]).load("breaking:X")


@pytest.mark.parametrize("reference", ["", ":", "a:b:c", "a:b.c", "a b:c", "a..b:c", ".a:b", "a:b\n", "ä:ö", 5, None])
def test_a_reference_is_a_module_and_one_name(reference: object) -> None:
    with pytest.raises(ConfigurationError, match="expected a module and one name in it"):
        AllowList([ACME]).load(reference)  # pyright: ignore[reportArgumentType]


def test_without_a_list_ready_made_hooks_and_entry_points_are_allowed() -> None:
    listed = AllowList()
    assert listed.allows("spanhook.hooks.tool_policy:ToolPolicy")
    assert not listed.allows("spanhook.hooks_of_mine:X")
    assert not listed.allows(f"{ACME}:Suffix")
    for entry in metadata.entry_points(group="spanhook_hook"):
        assert listed.allows(entry.value)


@pytest.mark.parametrize("entries", ["tests", ["a b"], ["a:b:c"], [""], [5]])
def test_a_list_that_cannot_be_meant_is_refused(entries: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="allowed"):
        AllowList(entries)
