"""Reading cards: Markdown with front matter, YAML alone, and what is neither."""

import importlib
import sys
from pathlib import Path

import pytest

from spanhook.cards import AgentCard, AgentConfigError, load_card
from tests.commands import Folder


def test_a_card_is_front_matter_and_instructions(folder: Folder) -> None:
    assert load_card(folder.path / "desk.md") == AgentCard(
        name="desk",
        instruction="Help with orders.",
        lifecycle_hooks={"on_start": "hooks.py:start_agent", "on_shutdown": "hooks.py:stop_agent"},
        fields={"model": "gpt-4o-mini"},
        path=folder.path / "desk.md",
    )


def test_a_card_is_yaml_alone(folder: Folder) -> None:
    file = folder.file("desk.yaml", "instruction: Help.\nlifecycle_hooks: {on_start: 'hooks.py:start_agent'}\n")
    card = load_card(str(file))
    assert (card.name, card.instruction) == ("desk", "Help.")
    assert card.lifecycle_hooks == {"on_start": "hooks.py:start_agent"}


@pytest.mark.parametrize(
    "text", ["Help.\n", "---\n---\nHelp.", "---\nname:\n---\n\n\nHelp.\n\n", "\ufeff---\r\nname: desk\r\n---\r\nHelp."]
)
def test_instructions_alone_are_a_card_too(folder: Folder, text: str) -> None:
    (folder.path / "desk.markdown").write_bytes(text.encode())
    card = load_card(folder.path / "desk.markdown")
    assert (card.name, card.instruction, card.lifecycle_hooks) == ("desk", "Help.", {})


def test_a_line_of_dashes_may_stand_in_the_instructions(folder: Folder) -> None:
    file = folder.file("a.md", "---\nname: desk\n---\nOne\n---\nTwo\n")
    assert load_card(file).instruction == "One\n---\nTwo"


def test_its_path_is_the_same_wherever_the_process_goes(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.path)
    card = load_card("desk.md")
    monkeypatch.chdir("/")
    assert card.path == folder.path / "desk.md"


def test_nothing_is_loaded_by_reading(folder: Folder) -> None:
    folder.write(hooks="raise AssertionError('loaded')")
    load_card(folder.path / "desk.md")


def test_lifecycle_hooks_invalid_type_raises(folder: Folder) -> None:
    file = folder.file("a.md", "---\nlifecycle_hooks: {on_stop: 'hooks.py:stop'}\n---\n")
    with pytest.raises(AgentConfigError) as caught:
        load_card(file)
    assert str(caught.value) == f"card '{file}': lifecycle_hooks has 'on_stop'; expected on_start or on_shutdown"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nname: [\n---\n", "cannot be read as YAML: .*line 3"),
        ("---\nname: desk\nname: till\n---\n", "the key 'name' occurs twice .line 3"),
        ("---\nname: desk\n", "no other line '---' ends its front matter"),
        ("---\n- name\n---\n", "is a list; expected keys with values"),
        ("---\n3: x\n---\n", "has the key 3; expected text"),
        ("---\nname: desk\ninstruction: a\n---\nb\n", "has an instruction and text below its front matter"),
        ("---\nname: 3\n---\n", "name is 3; expected the agent's name"),
        ("---\nmade: 2026-13-45\n---\n", "cannot be read as YAML: month must be"),
        ("---\nrun: !!python/object/apply:os.system ['true']\n---\n", "could not determine a constructor"),
        (f"---\ndeep: {'[' * 1000}\n---\n", "nested too deeply"),
        ("x" * 1_000_001, "longer than 1,000,000 bytes"),
    ],
)
def test_what_is_no_card_says_why(folder: Folder, text: str, said: str) -> None:
    file = folder.path / "bad.md"
    file.write_text(text)
    with pytest.raises(AgentConfigError, match=said) as caught:
        load_card(file)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_file_that_is_none(folder: Folder) -> None:
    (folder.path / "latin.md").write_bytes("---\nname: Zoë\n---".encode("latin-1"))
    (folder.path / "folder.md").mkdir()
    for name, said in (
        ("none.md", "No such file or directory; correct the path"),
        ("folder.md", "Is a directory"),
        ("latin.md", "is not UTF-8: .* save it as UTF-8"),
        ("card.json", r"expected a file that ends in \.md, \.markdown, \.yaml, \.yml"),
        ("a\0.md", "cannot be read"),
    ):
        with pytest.raises(AgentConfigError, match=said):
            load_card(folder.path / name)


def test_aliases_do_not_make_a_small_card_a_huge_message(folder: Folder) -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join(f'*{before}' for _ in range(10))}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    file = folder.file("bomb.yaml", f"{bomb}lifecycle_hooks: *i\n")
    with pytest.raises(AgentConfigError, match="lifecycle_hooks is a list; expected a mapping"):
        load_card(file)


def test_without_pyyaml_the_message_names_the_extra(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(AgentConfigError, match=r'pip install "spanhook\[policies\]"'):
        load_card(folder.path / "desk.md")


def test_cards_are_imported_without_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(importlib.import_module("spanhook.cards").__file__ or "").parent
    assert [path.name for path in source.glob("*.py") if "\nimport yaml" in path.read_text()] == []
