"""Conditions that compare a value from the call with a literal of another type."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanhook
from spanhook import ConfigurationError, Hooks, Reject, operation
from spanhook.errors import ConditionError
from spanhook.gating import compile_condition
from spanhook.gating._condition_types import guarded
from spanhook.gating._condition_values import ROOTS
from spanhook.hooks.tool_policy import ToolPolicy
from spanhook.testing import recorder


def ask(text: str, arguments: Any) -> Any:
    """What the condition gives for these arguments: true, false, or why it cannot be evaluated."""
    condition = compile_condition(text)
    with operation("tool.execute", "t", request={"arguments": arguments}):
        op = spanhook.current_operation()
        assert op is not None
        try:
            return condition(op)
        except ConditionError as error:
            return error.why


DIFFER = {
    "text and number": ("arguments.x == 3", "3", "string int"),
    "text and a number turned around": ("3 == arguments.x", "3", "int string"),
    "number and text": ("arguments.x == '3'", 3, "int string"),
    "number with a fraction": ("arguments.x == 3.5", "3.5", "string double"),
    "unsigned": ("arguments.x == 3u", "3", "string int"),
    "hexadecimal": ("arguments.x == 0x1e", "30", "string int"),
    "negative": ("arguments.x == -3", "-3", "string int"),
    "exponent": ("arguments.x == 1e-5", "1e-5", "string double"),
    "bool and text": ("arguments.x == true", "true", "string bool"),
    "bool and number": ("arguments.x == true", 1, "int bool"),
    "number and bool": ("arguments.x == 1", True, "bool int"),
    "unequal": ("arguments.x != 3", "3", "string int"),
    "not": ("!(arguments.x == 3)", "3", "string int"),
    "not twice": ("!!(arguments.x != 3)", "3", "string int"),
    "in": ("arguments.x in [3, 4]", "3", "string int"),
    "in texts": ("arguments.x in ['3', '4']", 3, "int string"),
    "in mixed": ("arguments.x in ['3', 4]", True, "bool string"),
    "in a mapping": ("arguments.x in {3: 1, 4: 1}", "3", "string int"),
    "in with another from the call": ("arguments.x in [3, name]", "3", "string int"),
    "in with null": ("arguments.x in ['a', null]", 3, "int string"),
    "in with a list": ("arguments.x in ['a', [3]]", 3, "int string"),
    "a list in lists of other lengths": ("arguments.x in [[1, 2], [3]]", ["3"], "string int"),
    "not in": ("!(arguments.x in [3])", "3", "string int"),
    "holds": ("3 in arguments.x", ["3"], "int string"),
    "holds beside others": ("3 in arguments.x", ["3", 4], "int string"),
    "holds a key": ("3 in arguments.x", {"3": 1}, "int string"),
    "ternary": ("(arguments.x == 3 ? 1 : 2) > 1", "3", "string int"),
    "a literal of a ternary": ("arguments.x == (name == 't' ? 3 : 4)", "3", "string int"),
    "a literal of a ternary in another": (
        "(name == 't' ? (name == 'u' ? 1 : 3) : 4) == arguments.x",
        "3",
        "int string",
    ),
    "in the list of a ternary": ("arguments.x in (name == 't' ? [3] : [4])", "3", "string int"),
    "an item of a literal": ("arguments.x == [1, 3][name == 't' ? 1 : 0]", "3", "string int"),
    "a value of a literal": ("{'t': 3}[name] == arguments.x", "3", "int string"),
    "exists": ("arguments.x.exists(i, i == 3)", ["3"], "string int"),
    "all": ("arguments.x.all(i, i != 3)", ["3"], "string int"),
    "filter": ("size(arguments.x.filter(i, i == 3)) > 0", ["3"], "string int"),
    "exists_one": ("arguments.x.exists_one(i, i == 3)", ["3"], "string int"),
    "exists in a literal": ("[3, 4].exists(i, i == arguments.x)", "3", "int string"),
    "filter of a literal": ("[3, 4].filter(i, i > 3)[0] == arguments.x", "4", "int string"),
    "a key": ("arguments.x.exists(k, k == 3)", {"3": 1}, "string int"),
    "one inside another": ("arguments.x.exists(i, i.exists(k, k == 3))", [["3"]], "string int"),
    "an item named as a type": ("arguments.x.exists(int, int == 3)", ["3"], "string int"),
    "lists": ("arguments.x == [3, 4]", ["3", 4], "string int"),
    "a list of one": ("[arguments.x] == [3]", "3", "string int"),
    "a list in lists": ("arguments.x in [[3], [4]]", ["3"], "string int"),
    "mappings": ("arguments.x == {'level': 3}", {"level": "3"}, "string int"),
    "nested": ("arguments.x.y[0].z == 3", {"y": [{"z": "3"}]}, "string int"),
    "by a text": ("arguments['x'] == 3", "3", "string int"),
    "parentheses": ("((arguments.x)) == (3)", "3", "string int"),
    "dyn": ("dyn(arguments.x) == dyn(3)", "3", "string int"),
    "dyn of a choice": ("dyn(name == 't' ? 3 : 4) == arguments.x", "3", "int string"),
    "a computed literal": ("arguments.x == 1 + 2", "3", "string int"),
    "a computed text": ("arguments.x == '3' + ''", 3, "int string"),
    "a computed value": ("arguments.x + '' == 3", "3", "string int"),
    "bytes": ("arguments.x == b'3'", "3", "string bytes"),
    "bytes in": ("arguments.x == '3'", b"3", "bytes string"),
    "timestamp": ("arguments.x == timestamp('2026-01-01T00:00:00Z')", "2026-01-01T00:00:00Z", "string timestamp"),
    "duration": ("arguments.x == duration('1s')", "1s", "string duration"),
    "a datetime": ("arguments.x == '2026'", dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "timestamp string"),
    "another root": ("name == 3", 0, "string int"),
    "after &&": ("name == 't' && arguments.x == 3", "3", "string int"),
    "in a chain": ("(arguments.x == 3) == true", "3", "string int"),
    "with a comment": ("arguments.x // == 'x'\n == 3 // yes", "3", "string int"),
    "with spaces": ("arguments . x  ==\n3", "3", "string int"),
    "null on the way": ("arguments.y == 3 || arguments.x == 3", "3", "string int"),
}


@pytest.mark.parametrize("name", DIFFER)
def test_types_that_differ_are_an_error_that_names_both(name: str) -> None:
    text, x, types = DIFFER[name]
    one, other = types.split()
    assert ask(text, {"x": x, "y": None}) == (
        f"compares a value of type {one} with a value of type {other}, which are never equal; convert one of them"
    )


AS_CEL = {
    "numbers": ("arguments.x == 3", 3.0, True),
    "other numbers": ("arguments.x == 3.5", 3, False),
    "null": ("arguments.x == 3", None, False),
    "not null": ("arguments.x != 'a'", None, True),
    "a literal null": ("arguments.x == null", "a", False),
    "null in": ("arguments.x in [null, 3]", None, True),
    "missing": ("has(arguments.z) && arguments.z == 3", "3", False),
    "missing is an error": ("arguments.z == 3", "3", "reads 'z', which is not there"),
    "one of the type is enough": ("arguments.x in ['4', 3]", "3", False),
    "none": ("arguments.x in []", "3", False),
    "two from the call": ("arguments.x == arguments.y", "3", False),
    "two from the call in a list": ("arguments.x in [arguments.y]", "3", False),
    "one of a choice": ("arguments.x == (name == 't' ? arguments.y : 3)", "3", False),
    "two literals": ("'3' == 3 || arguments.x == '3'", "3", True),
    "converted": ("int(arguments.x) == 3", "3", True),
    "converted to text": ("string(arguments.x) == '3'", 3, True),
    "by type": ("type(arguments.x) == string && arguments.x == '3'", "3", True),
    "by another type": ("type(arguments.x) == int && arguments.x == 3", "3", False),
    "by the type of a literal": ("type(arguments.x) == type(3)", "3", False),
    "the other side decides": ("arguments.x == 3 || arguments.x == '3'", "3", True),
    "the other side refuses": ("arguments.x == 3 && false", "3", False),
    "an empty list": ("3 in arguments.x", [], False),
    "held": ("3 in arguments.x", ["3", 3], True),
    "true is not held": ("1 in arguments.x", [1.0], True),
    "another length": ("arguments.x == [3]", ["3", "4"], False),
    "a list and a number": ("arguments.x == 3", [3], False),
    "in a text": ("'a' in arguments.x", "abc", "compares or combines values of types that do not go together"),
    "a length": ("size(arguments.x) == 3", "abc", True),
    "texts": ("arguments.x in ['a', \"b\", r'c']", "c", True),
    "the text of a comparison": ("arguments.x == 'value0 == 3'", "value0 == 3", True),
}


@pytest.mark.parametrize("name", AS_CEL)
def test_what_stays_as_cel_has_it(name: str) -> None:
    text, x, expected = AS_CEL[name]
    assert ask(text, {"x": x, "y": 3}) == expected


PLAIN = st.one_of(st.integers(-2, 2), st.booleans(), st.sampled_from(["", "1", "true", "a"]), st.none())


def _written(value: object) -> str:
    names = {"True": "true", "False": "false", "None": "null"}
    return names.get(str(value), repr(value)) if not isinstance(value, str) else repr(value)


def _kind(value: object) -> str:
    return (
        "" if value is None else "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
    )


@given(x=PLAIN, literal=PLAIN, literals=st.lists(PLAIN, max_size=3), turned=st.booleans())
def test_every_pair_of_values(x: Any, literal: Any, literals: list[Any], turned: bool) -> None:
    def expected(one: Any, other: Any) -> Any:
        if _kind(one) and _kind(other) and _kind(one) != _kind(other):
            return "error"
        return _kind(one) == _kind(other) and one == other

    def found(text: str) -> Any:
        answer = ask(text, {"x": x})
        return "error" if isinstance(answer, str) else answer

    sides = ("arguments.x", _written(literal))
    equal = expected(x, literal)
    assert found("{} == {}".format(*(reversed(sides) if turned else sides))) == equal
    assert found("{} != {}".format(*(reversed(sides) if turned else sides))) == (
        equal if equal == "error" else not equal
    )
    every = [expected(x, one) for one in literals]
    same = [one for one, other in zip(every, literals, strict=True) if _kind(other) or one is True]
    among = True in every or ("error" if same and all(one == "error" for one in same) else False)
    assert found(f"arguments.x in [{', '.join(map(_written, literals))}]") == among


def test_it_counts_against_the_call() -> None:
    denies = ToolPolicy(rules=[{"deny": ["*"], "when": "arguments.level == 3"}])
    allows = ToolPolicy(rules=[{"allow": ["*"], "when": "arguments.level != 3"}], default="deny")
    for policy in (denies, allows):
        with (
            recorder(Hooks(policy)),
            pytest.raises(Reject, match="type string with a value of type int") as caught,
            operation("tool.execute", "t", request={"arguments": {"level": "s3cret"}}),
        ):
            pass
        assert "s3cret" not in str(caught.value)


def test_what_is_written_grows_with_the_text() -> None:
    def size(text: str) -> int:
        return len(guarded(text, ROOTS)[1])

    for nest in ("((name == 't' ? 1 : 2) == {})", "([{}].filter(x, x == 1)[0] == 1)", "({} in [name, 'a'])"):
        once, twice = (text for text in (_nested(nest, 10), _nested(nest, 20)))
        assert size(twice) < 3 * size(once)


def _nested(nest: str, depth: int) -> str:
    text = "arguments.x"
    for _ in range(depth):
        text = nest.format(text)
    return text


def test_a_condition_that_is_nested_too_deeply_is_refused() -> None:
    for deep in (f"{'!' * 1980}(name == 't')", _nested("({} == true)", 80)):
        with pytest.raises(ConfigurationError, match="nested too deeply") as caught:
            compile_condition(deep)
        assert "\n" not in str(caught.value)
