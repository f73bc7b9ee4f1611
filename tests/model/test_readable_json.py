"""JSON to be read, of any value."""

import datetime as dt
import enum
import json
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Settings
from spanhook.hooks.injection_scan import InjectionScan
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.model import json_text
from spanhook.testing import recorder

Letter = enum.Enum("Letter", "A")
KEYS: list[Any] = [("a", 1), b"a", dt.date(2020, 1, 1), frozenset((1,)), Letter.A, None, 1.5, ((b"x",),)]


class Silent:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_there_is_json_of_every_value() -> None:
    assert json_text({"a": [1, "ä", None]}) == '{"a": [1, "\\u00e4", null]}'
    assert json_text("ä", ensure_ascii=False) == '"ä"'
    assert json.loads(json_text([{("a", 1): {b"b": {1}}}])) == [{"('a', 1)": {"b'b'": "{1}"}}]
    assert json.loads(json_text({b"a": 1, "b'a'": 2})) == {"b'a'": 1, "b'a''": 2}
    assert json.loads(json_text([Silent(), {Silent(): 1}])) == ["<Silent>", {"<Silent>": 1}]
    assert json.loads(json_text({("k",): 10**5000}))["('k',)"].startswith("0x")
    circle: dict[Any, Any] = {}
    circle["x"] = [circle]
    assert json.loads(json_text(circle)) == {"x": ["(itself)"]}
    twice = [1]
    assert json.loads(json_text({b"a": twice, b"b": twice})) == {"b'a'": [1], "b'b'": [1]}


@pytest.mark.parametrize("hook", [PIIRedaction(), InjectionScan(action="reject")], ids=lambda hook: hook.name)
def test_results_with_keys_of_any_type_are_read(hook: Any) -> None:
    for key in KEYS:
        result = {"nested": [{key: 1}], key: 2}

        @spanhook.tool("t")
        def t(argument: object, result: object = result) -> object:
            return result

        with recorder(Hooks(hook), settings=Settings(content="SPAN_AND_EVENT", input_output_values=True)):
            assert t(result) == result


def test_what_such_results_have_is_redacted() -> None:
    @spanhook.tool("t")
    def t() -> object:
        return {("ann@example.com", 1): {b"x": "ann@example.com"}}

    with recorder(Hooks(PIIRedaction()), settings=Settings(content="SPAN_AND_EVENT")) as seen:
        assert t() == {("[EMAIL]", 1): {b"x": "[EMAIL]"}}
    assert "ann@example.com" not in "".join(span.to_json() for span in seen.spans)
