"""Definitions from YAML files: all or none, and mistakes named with their file."""

from pathlib import Path

import pytest

from spanhook import ConfigurationError, Settings
from spanhook.definitions import HookRegistry, load_definitions
from spanhook.testing import recorder
from tests.definitions.parts import ACME, call, search

ONE = f"""
name: one
event_type: tool.execute.pre
handler_ref: {ACME}:Suffix
config: {{text: "?"}}
"""
TWO = f"""
- {{hook_id: a, name: a, event_type: tool.execute.pre, handler_ref: "{ACME}:Suffix"}}
- {{hook_id: b, name: b, event: tool.execute.pre, handler_ref: "{ACME}:Never", priority: 100, enabled: false}}
"""


def test_one_definition_or_a_list_in_each_file(tmp_path: Path) -> None:
    (tmp_path / "2.yml").write_text(TWO)
    (tmp_path / "1.yaml").write_text(ONE)
    (tmp_path / "3.yaml").write_text(f"{ONE}\n---{ONE}")
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    (tmp_path / "notes.txt").write_text("not one of them")
    found = load_definitions(tmp_path)
    assert [one.name for one in found] == ["one", "a", "b", "one", "one"]
    assert len({one.hook_id for one in found}) == 5
    assert [one.hook_id for one in load_definitions(tmp_path)] == [one.hook_id for one in found]


def test_what_a_changed_directory_enforces_less_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    registry = HookRegistry(allowed=[ACME, "spanhook.hooks"])
    limited = ONE.replace(f"{ACME}:Suffix", "spanhook.hooks.tool_policy:ToolPolicy")
    limited = limited.replace('{text: "?"}', "{default: deny, rules: [{allow: [a]}]}")
    (tmp_path / "first.yaml").write_text(limited)
    (tmp_path / "second.yaml").write_text(ONE.replace("one", "two"))
    registry.load(tmp_path)
    with recorder(registry) as seen:
        registry.load(tmp_path)
        assert seen.events == []
        (tmp_path / "first.yaml").rename(tmp_path / "renamed.yaml")
        registry.load(tmp_path)
        assert seen.events == []
        (tmp_path / "second.yaml").unlink()
        (tmp_path / "renamed.yaml").write_text(limited.replace("[a]", "['*']") + "mode: shadow\n")
        registry.load(tmp_path)
        (event,) = seen.events
    less = (
        "hook 'one': mode is shadow instead of enforce",
        "hook 'one': rule 1 of 1 allows what no rule allowed",
        "hook 'two' is gone",
    )
    assert event["attributes"] == {
        "spanhook.config.outcome": "loosened",
        "spanhook.config.source": "definitions",
        "spanhook.config.name": tmp_path.name,
        "spanhook.config.changes": less,
    }
    (warning,) = (one for one in caplog.records if one.levelname == "WARNING")
    assert warning.getMessage() == f"spanhook: {tmp_path} has changed, and less is enforced now: {'; '.join(less)}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: [", "line 1: is not valid YAML: while parsing a flow node, expected the node content"),
        ("just text", "expected a definition"),
        ("- 5", "expected a definition"),
        ("!!python/object/apply:os.system [true]", "is not valid YAML"),
        ("{1: 2, 3: 4}", "Field required"),
        (ONE.replace("tool.execute.pre", "tool.explode.pre"), "event_type: there is no event 'tool.explode.pre'"),
        (ONE + "priority: high\n", "priority: Input should be a valid integer"),
        (ONE + "timeout: 5\n", "timeout: Extra inputs are not permitted"),
        (TWO + TWO[1:], "hook_id 'a' is taken by"),
        ("[" * 1000, "is not valid YAML"),
        ("x" * 1_000_001, "larger than 1000000 bytes"),
    ],
)
def test_a_mistake_names_its_file_and_nothing_is_changed(tmp_path: Path, text: str, said: str) -> None:
    registry = HookRegistry(allowed=[ACME])
    (tmp_path / "good.yaml").write_text(ONE)
    registry.load(tmp_path)
    before = registry.registered()
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match=r"bad\.yaml") as raised:
        registry.load(tmp_path)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 1500
    assert registry.registered() == before


def test_bytes_that_are_no_text_and_a_directory_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00\x00name")
    with pytest.raises(ConfigurationError, match=r"bad\.yaml cannot be read"):
        load_definitions(tmp_path)
    with pytest.raises(ConfigurationError, match=r"the directory '.*' does not exist"):
        load_definitions(tmp_path / "nowhere")


def test_a_reference_that_is_not_allowed_in_a_file_changes_nothing(tmp_path: Path) -> None:
    registry = HookRegistry(allowed=[f"{ACME}:Suffix"])
    (tmp_path / "all.yaml").write_text(TWO)
    with pytest.raises(ConfigurationError, match="Never' is not allowed") as raised:
        registry.load(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path}: hook '")
    assert registry.count() == 0


def test_loading_again_takes_over_what_has_changed(tmp_path: Path) -> None:
    registry = HookRegistry(allowed=[ACME])
    path = tmp_path / "all.yaml"
    path.write_text(TWO)
    registry.load(tmp_path)
    with recorder(registry.hooks):
        assert search([]).invoke(call()).content == "found x!"
        kept = registry.get("a")
        path.write_text(TWO.replace("enabled: false", "enabled: true"))
        registry.load(tmp_path)
        assert search([]).invoke(call()).status == "error"
        assert registry.get("a") is kept
        path.write_text(TWO.splitlines()[1])
        registry.load(tmp_path)
        assert [one.hook_id for one in registry.registered()] == ["a"]
        assert search([]).invoke(call()).content == "found x!"
    assert registry.statistics().hooks["a"].executions == 3


def test_the_settings_may_name_the_directory(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    registry = HookRegistry(allowed=[ACME])
    with pytest.raises(ConfigurationError, match="names none"):
        registry.load()
    with recorder(registry, settings=Settings(execution_log_enabled=True)):
        registry.load(tmp_path)
        assert search([]).invoke(call()).content == "found x?"
