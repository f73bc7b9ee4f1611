"""Writing cards: what is read again is the same card, and its hooks are still found."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanhook.cards import AgentCard, AgentConfigError, agent_scope, dump_card, load_card
from tests.commands import Folder


@pytest.mark.parametrize("ending", ["md", "markdown", "yaml", "yml"])
def test_a_dumped_card_keeps_its_hooks(folder: Folder, ending: str) -> None:
    card = load_card(folder.path / "desk.md")
    copy = folder.path / f"copy.{ending}"
    assert dump_card(card, copy) == copy.read_text()
    again = load_card(copy)
    assert again.lifecycle_hooks == card.lifecycle_hooks
    assert (again.name, again.instruction, again.fields) == (card.name, card.instruction, card.fields)


def test_a_dumped_card_is_the_text_that_people_write(folder: Folder) -> None:
    text = (folder.path / "desk.md").read_text()
    assert sorted(dump_card(load_card(folder.path / "desk.md")).splitlines()) == sorted(text.splitlines())


def test_a_card_dumped_elsewhere_finds_its_hooks(folder: Folder) -> None:
    (folder.path / "other" / "place").mkdir(parents=True)
    card = load_card(folder.path / "desk.md")
    copy = folder.path / "other" / "place" / "desk.md"
    dump_card(card, copy)
    again = load_card(copy)
    assert again.lifecycle_hooks["on_start"] == "../../hooks.py:start_agent"
    with agent_scope(again):
        pass
    back = folder.path / "back.md"
    dump_card(again, back)
    assert load_card(back).lifecycle_hooks == card.lifecycle_hooks


def test_references_that_are_not_relative_stay(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    given = {"on_start": "/srv/hooks.py:start", "on_shutdown": "desk.hooks:stop"}
    dump_card(AgentCard(name="desk", lifecycle_hooks=given), tmp_path / "there" / "desk.yaml")
    assert load_card(tmp_path / "there" / "desk.yaml").lifecycle_hooks == given


def test_without_a_path_nothing_is_written(folder: Folder) -> None:
    before = sorted(folder.path.iterdir())
    assert dump_card(AgentCard(name="desk", instruction="Help.")) == "---\nname: desk\n---\n\nHelp.\n"
    assert sorted(folder.path.iterdir()) == before


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60, deadline=None
)
@given(
    instruction=TEXTS,
    fields=st.dictionaries(TEXTS.filter(lambda key: key not in ("name", "instruction", "lifecycle_hooks")), PLAIN),
    ending=st.sampled_from(["md", "yaml"]),
)
def test_every_card_is_the_same_once_it_is_read_again(
    tmp_path: Path, instruction: str, fields: dict[str, Any], ending: str
) -> None:
    card = AgentCard(name="desk", instruction=instruction, fields=fields, path=tmp_path / f"a.{ending}")
    dump_card(card, tmp_path / f"a.{ending}")
    assert load_card(tmp_path / f"a.{ending}") == card


@pytest.mark.one_value
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"client": object()}, "cannot represent an object"),
        ({"text": "x" * 1_000_001}, "would be longer than 1,000,000 bytes"),
    ],
)
def test_a_card_that_cannot_be_written_leaves_the_file_as_it_was(
    folder: Folder, fields: dict[str, Any], said: str
) -> None:
    file = folder.path / "desk.md"
    before = file.read_text()
    with pytest.raises(AgentConfigError, match=said):
        dump_card(AgentCard(name="desk", fields=fields), file)
    assert file.read_text() == before
    assert sorted(path.name for path in folder.path.iterdir()) == ["desk.md", "hooks.py"]


def test_a_place_that_cannot_be_written(folder: Folder) -> None:
    with pytest.raises(AgentConfigError, match=r"cannot be written: .*; correct the path"):
        dump_card(AgentCard(name="desk"), folder.path / "nowhere" / "desk.md")
    with pytest.raises(AgentConfigError, match="cannot be written as UTF-8"):
        dump_card(AgentCard(name="desk", instruction="\ud800"), folder.path / "odd.md")
    with pytest.raises(AgentConfigError, match="ends in"):
        dump_card(AgentCard(name="desk"), folder.path / "desk.txt")
