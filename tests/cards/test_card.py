"""What a card may say, and what one made in code is told about its mistakes."""

import os
from pathlib import Path
from typing import Any

import pytest

from spanhook import ConfigurationError
from spanhook.cards import AgentCard, AgentConfigError


def test_a_card_made_in_code_is_as_good_as_a_file() -> None:
    card = AgentCard(name="desk", lifecycle_hooks={"on_start": "hooks.py:start"}, fields={"model": "gpt-4o-mini"})
    assert (card.instruction, card.path, card.folder) == ("", None, os.getcwd())
    assert card == AgentCard(
        name="desk", lifecycle_hooks={"on_start": "hooks.py:start"}, fields={"model": "gpt-4o-mini"}
    )


def test_an_agent_config_error_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="expected the agent's name"):
        AgentCard(name="")


def test_lifecycle_hooks_invalid_type_raises() -> None:
    with pytest.raises(AgentConfigError, match="lifecycle_hooks has 'on_stop'; expected on_start or on_shutdown"):
        AgentCard(name="desk", lifecycle_hooks={"on_stop": "hooks.py:stop"})


@pytest.mark.parametrize("given", ["hooks.py", ":start", "hooks.py:", "hooks.py:a b", "hooks.py:a.b", "", 3, None, {}])
def test_a_reference_names_a_file_or_module_and_a_function(given: Any) -> None:
    with pytest.raises(AgentConfigError, match=r"lifecycle_hooks\.on_start is .*; expected file\.py:function"):
        AgentCard(name="desk", lifecycle_hooks={"on_start": given})


@pytest.mark.parametrize("given", [["hooks.py:start"], "hooks.py:start", 3])
def test_lifecycle_hooks_are_a_mapping(given: Any) -> None:
    with pytest.raises(AgentConfigError, match="expected a mapping, such as on_start: "):
        AgentCard(name="desk", lifecycle_hooks=given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": 3}, "name is 3"),
        ({"name": " "}, "name is ' '"),
        ({"name": "x", "instruction": ["a"]}, "instruction is a list; expected text"),
        ({"name": "x", "fields": {"name": "y"}}, "'name' cannot be one of its other fields"),
        ({"name": "x", "fields": {3: "y"}}, "3 cannot be one of its other fields"),
    ],
)
def test_each_field_is_of_its_type(given: dict[str, Any], said: str) -> None:
    with pytest.raises(AgentConfigError, match=said):
        AgentCard(**given)


def test_what_a_card_was_made_of_may_change_later() -> None:
    hooks, fields = {"on_start": "hooks.py:start"}, {"model": "a"}
    card = AgentCard(name="desk", lifecycle_hooks=hooks, fields=fields, path=Path("cards/desk.md"))
    hooks["on_shutdown"], fields["model"] = "hooks.py:stop", "b"
    assert (card.lifecycle_hooks, card.fields) == ({"on_start": "hooks.py:start"}, {"model": "a"})
    assert card.folder == os.path.join(os.getcwd(), "cards")
