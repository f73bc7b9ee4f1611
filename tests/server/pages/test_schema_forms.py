from typing import Any

import pytest
from pydantic import BaseModel

from spanhook.server.pages.schema_forms import Field, config_from, fields_for
from spanhook.server.problems import Problem


class Inner(BaseModel):
    deny: list[str]


class Config(BaseModel):
    limit: str
    retries: int = 3
    share: float | None = None
    strict: bool = True
    mode: str = "a"
    tools: list[str] = []
    rules: list[Inner] = []


SCHEMA = Config.model_json_schema()
SCHEMA["properties"]["mode"]["enum"] = ["a", "b"]


def sent(**values: str) -> dict[str, str]:
    return {f"config.{name}": value for name, value in values.items()}


def test_each_setting_has_a_field_of_its_sort() -> None:
    fields = {
        one.name: one for one in fields_for(SCHEMA, {"limit": "5", "tools": ["x", "y"], "rules": [{"deny": ["z"]}]})
    }
    assert {name: one.sort for name, one in fields.items()} == {
        "limit": "text", "retries": "integer", "share": "number", "strict": "switch", "mode": "choice",
        "tools": "lines", "rules": "json",
    }  # fmt: skip
    assert (fields["limit"].value, fields["limit"].required) == ("5", True)
    assert (fields["retries"].value, fields["strict"].value, fields["share"].value) == ("3", "true", "")
    assert (fields["tools"].value, fields["mode"].choices) == ("x\ny", ("a", "b"))
    assert '"deny"' in fields["rules"].value


def test_what_was_not_touched_stays_out() -> None:
    fields = fields_for(SCHEMA, {})
    form = sent(limit="5", retries="3", strict="true", mode="a")
    assert config_from(form, fields, {}) == {"limit": "5"}
    assert config_from(form, fields, {"retries": 3}) == {"limit": "5", "retries": 3}
    assert config_from(sent(), fields, {}) == {"limit": "", "strict": False}


def test_what_was_sent_has_its_type() -> None:
    form = sent(
        limit="5", retries="7", share="0.5", mode="b", tools=" x \n\ny", rules='[{"deny": ["z"]}]', strict="true"
    )
    assert config_from(form, fields_for(SCHEMA, {}), {}) == {
        "limit": "5", "retries": 7, "share": 0.5, "mode": "b", "tools": ["x", "y"], "rules": [{"deny": ["z"]}]
    }  # fmt: skip
    assert config_from(sent(limit="5", retries="x", strict="true"), fields_for(SCHEMA, {}), {})["retries"] == "x"


@pytest.mark.parametrize("given", ["{", "[" * 100_000, "nothing"])
def test_what_should_be_json_is_said_to_be_none(given: str) -> None:
    with pytest.raises(Problem, match="Rules: expected JSON"):
        config_from(sent(limit="5", rules=given), fields_for(SCHEMA, {}), {})


def test_settings_that_the_schema_does_not_know_are_kept_as_json() -> None:
    config: dict[str, Any] = {"limit": "5", "older": {"a": 1}}
    fields = fields_for(SCHEMA, config)
    assert isinstance(fields[-1], Field)
    assert (fields[-1].name, fields[-1].sort) == ("", "json")
    form = {**sent(limit="5", strict="true"), "config.other settings": fields[-1].value}
    assert config_from(form, fields, config) == config
    assert config_from({"config.other settings": '{"a": 1}'}, fields_for(None, config), config) == {"a": 1}
    with pytest.raises(Problem, match="expected a JSON object"):
        config_from({"config.other settings": "[1]"}, fields_for(None, config), config)
    assert fields_for(None, {}) == []
