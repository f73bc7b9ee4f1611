"""The published schema says what the models take, and stands in docs/ as it is."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from spanhook import ConfigurationError, Settings
from spanhook.config import load_file, read_file, schema
from spanhook.config.models import Configuration, SettingsEntry
from spanhook.config.reading import read
from tests.config.conftest import Write

PUBLISHED = Path(__file__).parents[2] / "docs" / "spanhook.schema.json"


def test_what_is_published_is_what_the_command_prints() -> None:
    told = "write it anew: spanhook config schema > docs/spanhook.schema.json"
    assert json.loads(PUBLISHED.read_text()) == schema(), told


def test_every_setting_may_be_given() -> None:
    assert set(SettingsEntry.model_fields) == {setting.name for setting in fields(Settings)} - {
        "mode",
        "request_identity",
    }


def test_every_key_is_described() -> None:
    found = schema()
    for model in (found, *found["$defs"].values()):
        assert [name for name, key in model.get("properties", {}).items() if not _described(key)] == []


def _described(key: dict[str, Any]) -> bool:
    return "description" in key or "$ref" in key or any("$ref" in one for one in key.get("anyOf", ()))


TAKEN = [
    "version: 1",
    "mode: off",
    "hooks: {path: ./hooks.py:hooks, timeout: 10}",
    "settings: {steps: true, chain_timeout_ms: 1.5, hooks_max_per_event: 3, allow: [a], content: NO_CONTENT}",
    "policies: [{use: x, id: a.b/c, with: {any: [thing]}, events: [tool.execute], tools: [a], mode: shadow}]",
    "policies: []",
    "policies: [{use: tool_policy, id: a, with: {rules: [{deny: [x], status_code: 402}]}}]",
]

REFUSED = [
    "version: 2",
    "mode: on",
    "hooks: ./hooks.py:hooks",
    "hooks: {timeout: 10}",
    "hooks: {path: a:b, timeout: 0}",
    "settings: {stepz: true}",
    "settings: {steps: 1}",
    "settings: {max_per_event: 0}",
    "settings: {allow: a}",
    "stores: {default: x}",
    "control_plane: {}",
    "control_plane: {url: 'https://control.example', fail_mode: perhaps}",
    "control_plane: {url: 'https://control.example', api_key: shk_1}",
    "policies: {use: x, id: a}",
    "policies: [{use: x}]",
    "policies: [{use: x, id: 'a b'}]",
    "policies: [{use: x, id: a, priority: 1001}]",
    "policies: [{use: x, id: a, tools: []}]",
    "policies: [{use: x, id: a, mode: off}]",
    "policies: [{use: x, id: a, wiht: {}}]",
]

REFUSED_BY_HOOKS = [
    "policies: [{use: tool_policy, id: a, with: {rules: [{deny: [x], status: 402}]}}]",
    "policies: [{use: tool_policy, id: a, with: {default: perhaps}}]",
    "policies: [{use: metrics, id: a, with: {atributes: [x]}}]",
]


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


@pytest.mark.parametrize("text", [*TAKEN, *REFUSED])
def test_the_schema_and_the_models_agree(write: Write, text: str, validator: Draft202012Validator) -> None:
    write("", "hooks.py")
    path = write(text)
    valid = validator.is_valid(read(path).data)

    assert valid == (text in TAKEN)
    if valid:
        assert read_file(path).configuration == Configuration.model_validate(read(path).data)
    else:
        with pytest.raises(ConfigurationError):
            read_file(path)


@pytest.mark.parametrize("text", REFUSED_BY_HOOKS)
def test_the_schema_knows_the_settings_of_ready_made_hooks(
    write: Write, text: str, validator: Draft202012Validator
) -> None:
    path = write(text)

    assert not validator.is_valid(read(path).data)
    with pytest.raises(ConfigurationError):
        load_file(path)


def test_the_example_is_valid() -> None:
    path = PUBLISHED.parents[1] / "examples" / "spanhook.yaml"

    assert Draft202012Validator(schema()).is_valid(read(str(path)).data)
    assert load_file(str(path)).policies
