"""Conditions in CEL: what they read, what they refuse when they are made, and how they fail."""

import datetime as dt
import decimal
import enum
import json
import pathlib
import threading
import uuid
from collections import UserDict, deque
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import cel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, operation
from spanhook.errors import ConditionError
from spanhook.gating import Facts, _condition_types, compile_condition, references, united
from spanhook.gating._condition_text import FUNCTIONS, TYPES
from spanhook.testing import recorder


def ask(text: str, arguments: Any = None, **who: Any) -> Any:
    """What a condition gives for a call of a tool with these arguments, or what it raises."""
    condition, found = compile_condition(text), list[Any]()
    hooks = Hooks()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        try:
            found.append(condition(op))
        except ConditionError as error:
            found.append(error)

    given = {} if arguments is None else arguments
    with recorder(hooks), spanhook.context(**who), operation("tool.execute", "refund", request={"arguments": given}):
        pass
    if isinstance(found[0], ConditionError):
        raise found[0]
    return found[0]


def refused(text: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        compile_condition(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ------------------------------------------------------------------------------------------- what is read


def test_arguments_and_identity() -> None:
    text = "arguments.amount > 50 && identity.tenant_id != 'internal'"

    assert ask(text, {"amount": 51}, tenant_id="acme") is True
    assert ask(text, {"amount": 50}, tenant_id="acme") is False
    assert ask(text, {"amount": 51}, tenant_id="internal") is False


def test_every_root() -> None:
    hooks, found = Hooks(), list[bool]()
    condition = compile_condition(
        "name == 'my-model' && model == 'my-model' && agent == 'desk' && identity.agent_id == 'desk' "
        "&& identity.attributes.plan == 'pro' && size(arguments) == 0 && usage.total_tokens == 15 "
        "&& usage.llm_calls == 1"
    )
    hooks.before("llm.call", when=condition)(lambda op: found.append(True))

    @spanhook.agent("desk")
    def desk() -> None:
        for _ in range(2):
            with operation("llm.call", "my-model", provider="acme", request={"messages": ["hi"]}) as op:
                op.record_usage(input_tokens=10, output_tokens=5)

    with recorder(hooks), spanhook.context(plan="pro"):
        desk()
    assert found == [True]  # the second call: usage is what the run has used so far


def test_only_what_is_referenced_is_read() -> None:
    assert references("arguments.a > 1 && arguments['b c'] == 2 && identity.user_id == name") == {
        "arguments": {"a", "b c"},
        "identity": {"user_id"},
        "name": None,
    }
    for whole in (
        "size(arguments) > 1",
        "arguments.exists(k, k == 'a')",
        "'a' in arguments",
        "arguments[name] == 1",
        "arguments == {'a': arguments.b}",
        "arguments['a\\x62'] == 1",
    ):
        assert references(whole)["arguments"] is None, whole
    assert references("'arguments.a' == \"name\" // identity.x") == {}
    assert references("arguments . a == 1 && has(arguments\n.b)") == {"arguments": {"a", "b"}}
    assert references("arguments.name == 'x' && arguments.l.all(x, x.model == 'y')") == {"arguments": {"name", "l"}}


def test_what_is_not_referenced_disturbs_nothing() -> None:
    endless: list[Any] = []
    endless.append(endless)

    assert ask("arguments.amount > 50", {"amount": 60, "client": object(), "x": endless, "y": "z" * 2_000_000})


def test_conditions_that_share_facts_do_not_disturb_each_other() -> None:
    fine, big, small = (compile_condition(f"arguments.{key}.all(x, x >= 0)") for key in ("a", "b", "c"))
    hooks, found = Hooks(), list[Any]()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        facts = Facts(op, united([fine, big, small]))
        for condition in (fine, big, small):
            try:
                found.append(condition.holds(facts))
            except ConditionError as error:
                found.append(str(error))

    arguments = {"a": [1, 2], "b": [1] * 5000, "c": [-1]}
    with recorder(hooks), operation("tool.execute", "t", request={"arguments": arguments}):
        pass
    assert found == [
        True,
        "condition 'arguments.b.all(x, x >= 0)' reads a list of 5,000 items, which may have 500 here",
        False,
    ]


class Color(enum.Enum):
    RED = "red"


@dataclass
class Address:
    city: str


class Order(BaseModel):
    amount: int
    to: Address


WHEN = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)

PLAIN: dict[str, tuple[Any, str]] = {
    "int": (2**53 + 1, "$ == 9007199254740993"),
    "huge int": (10**400 % 10**30 + 10**30, "$ > 50 && $ > 9007199254740993"),
    "negative": (-(2**63), "$ < 0"),
    "float": (50.5, "$ > 50"),
    "bool": (True, "$"),
    "none": (None, "$ == null"),
    "unicode": ("Zoë 💶", "$ == 'Zoë 💶' && $.matches('^Z')"),
    "surrogate": ("\ud800a", "$.endsWith('a')"),
    "bytes": (b"abc", "$ == b'abc'"),
    "bytearray": (bytearray(b"abc"), "size($) == 3"),
    "datetime": (WHEN, "$ > timestamp('2026-01-01T00:00:00Z')"),
    "timedelta": (dt.timedelta(hours=2), "$ > duration('1h')"),
    "date": (dt.date(2026, 1, 2), "$ == '2026-01-02'"),
    "decimal": (decimal.Decimal("50.5"), "$ > 50.0"),
    "uuid": (uuid.UUID(int=1), "$.endsWith('0001')"),
    "path": (pathlib.PurePosixPath("/etc/passwd"), "$.startsWith('/etc/')"),
    "enum": (Color.RED, "$ == 'red'"),
    "tuple": ((1, 2), "2 in $"),
    "set": ({1}, "$ == [1]"),
    "deque": (deque([1]), "$ == [1]"),
    "mapping": (MappingProxyType({"a": {"b": 1}}), "$.a.b == 1"),
    "int keys": ({1: "a"}, "$[1] == 'a'"),
    "dataclass": (Address("Rome"), "$.city == 'Rome'"),
    "model": (Order(amount=1, to=Address("Rome")), "$.amount == 1 && $.to.city == 'Rome'"),
    "nested": ([[{"a": [1]}]], "$[0][0].a[0] == 1"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_values(name: str) -> None:
    value, text = PLAIN[name]
    assert ask(text.replace("$", "arguments.x"), {"x": value}) is True


# ------------------------------------------------------------------------------------------- how they fail


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE

FAILS: dict[str, tuple[str, Any, str]] = {
    "missing": ("arguments.x > 1", {}, "reads 'x', which is not there"),
    "missing inside": ("arguments.x.y > 1", {"x": {}}, "reads 'y', which is not there"),
    "missing by a value": ("arguments.x[arguments.key] == 1", {"x": {}, "key": "s3cret"}, "reads a key that is not"),
    "missing item": ("arguments.x[3] > 1", {"x": []}, "reads an item that is not there"),
    "types": ("arguments.x > 1", {"x": "s3cret"}, "compares or combines values of types that do not go"),
    "null": ("arguments.x > 1", {"x": None}, "compares or combines values of types that do not go"),
    "not a number": ("arguments.x > 1", {"x": float("nan")}, "reads NaN, which is neither more nor less"),
    "no boolean": ("arguments.x", {"x": 1}, "gives a value of type int, expected true or false"),
    "text for boolean": ("arguments.x", {"x": "true"}, "gives a value of type str, expected true or false"),
    "overflow": ("arguments.x + 1 > 0", {"x": 2**63 - 1}, "calculates beyond what numbers can be"),
    "by zero": ("1 / arguments.x > 0", {"x": 0}, "calculates beyond what numbers can be"),
    "no number": ("int(arguments.x) > 0", {"x": "s3cret"}, "cannot be evaluated"),
    "opaque": ("arguments.x != 1", {"x": object()}, "reads a value of type object, for which CEL has no type"),
    "opaque inside": ("size(arguments) > 0", {"x": [object()]}, "reads a value of type object"),
    "keys": ("arguments.x != 1", {"x": {None: 1}}, "reads a mapping whose keys are not all texts or numbers"),
    "deep": ("arguments.x == 1", {"x": nested(50)}, "reads data that is nested more than 32 deep"),
    "deeper than the stack": ("arguments.x == 1", {"x": nested(100_000)}, "reads data that is nested too deeply"),
    "cycle": ("arguments.x == 1", {"x": CYCLE}, "reads data that is nested more than 32 deep"),
    "items": ("size(arguments.x) > 0", {"x": [0] * 10_001}, "reads more than 10,000 items"),
    "wide": ("size(arguments.x) > 0", {"x": [[[0] * 30] * 30] * 30}, "reads more than 10,000 items"),
    "text": ("size(arguments.x) > 0", {"x": "a" * 1_000_001}, "reads more than 1,000,000 characters"),
    "items in a macro": ("arguments.x.all(i, i > 0)", {"x": [1] * 501}, "a list of 501 items, which may have 500 here"),
    "items in two": (
        "arguments.x.all(i, arguments.x.exists(k, k == i))",
        {"x": [1] * 51},
        "reads a list of 51 items, which may have 50 here",
    ),
    "text in a macro": (
        "arguments.x.all(i, arguments.y.contains(i))",
        {"x": ["a"], "y": "a" * 100_000},
        "reads 100,001 characters, of which there may be 100,000 here",
    ),
    "repeated": ("size(arguments.x + arguments.x) > 0", {"x": [1] * 6000}, "which may have 5,000 here"),
    "usage": ("usage.cost_usd > 1.0", {}, "compares or combines values of types"),
}


@pytest.mark.parametrize("name", FAILS)
def test_what_cannot_be_evaluated_is_an_error(name: str) -> None:
    text, arguments, expected = FAILS[name]
    with pytest.raises(ConditionError) as caught:
        ask(text, arguments)
    assert f"condition {text!r} " in str(caught.value)
    assert expected in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("amount", [float("nan"), decimal.Decimal("nan"), decimal.Decimal("snan"), [float("nan")]])
def test_nan_is_an_error(amount: Any) -> None:
    """A model may send it, and ``amount > 50`` would be false."""
    with pytest.raises(ConditionError):
        ask("arguments.amount == arguments.amount && arguments.amount > 50", {"amount": amount})


def test_a_value_whose_class_misbehaves_is_an_error() -> None:
    class Liar(UserDict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise RuntimeError("s3cret")

    with pytest.raises(ConditionError, match="cannot be evaluated"):
        ask("arguments.x.a == 1", {"x": Liar(a=1)})


def test_has_asks_whether_it_is_there() -> None:
    assert ask("has(arguments.x) && arguments.x > 1", {"x": 2}) is True
    assert ask("has(arguments.x) && arguments.x > 1", {}) is False


# ------------------------------------------------------------------------------------------- what is refused

BAD: dict[str, tuple[Any, str]] = {
    "no text": (7, "condition 7: expected a CEL text such as 'arguments.amount > 50'"),
    "empty": ("", "condition '' is not valid CEL: line 1, column 1: Syntax error: mismatched input '<EOF>'"),
    "syntax": ("1 +", "condition '1 +' is not valid CEL: line 1, column 4: Syntax error: mismatched input '<EOF>'"),
    "second line": ("1 > 0 &&\n  ", "is not valid CEL: line 2, column 3: "),
    "python": ("arguments.x and name", "is not valid CEL: line 1, column 13: "),
    "parentheses": ("(" * 500 + "true" + ")" * 500, "is not valid CEL: "),
    "long": ("true || " * 300 + "true", "has 2,404 characters, at most 2,000 are allowed; split the rule"),
    "name": ("argument.x > 1", "unknown name 'argument' (did you mean 'arguments'?); expected one of arguments, id"),
    "name of a key": ("user == 'x'", "unknown name 'user' (did you mean identity.user_id?); expected one of arguments"),
    "dotted name": (".arguments.x > 1", "unknown name '.arguments'"),
    "field": ("identity.tenant == ''", "identity has no 'tenant' (did you mean 'tenant_id'?); expected one of tenant"),
    "usage": ("usage.tokens > 1", "usage has no 'tokens'"),
    "field of a text": ("name.first == ''", "name.first: name is a text and has no 'first'"),
    "function": ("lower(name) == ''", "unknown function 'lower'; expected one of bytes, contains, "),
    "method": ("name.lowerAscii() == ''", "unknown function 'lowerAscii'"),
    "map": ("arguments.x.map(i, [i, i]) != []", "'map' is not available; use exists, all or filter"),
    "three macros": (
        "arguments.x.all(a, arguments.x.all(b, arguments.x.all(c, c > 1)))",
        "3 macros stand inside of each other, at most 2 are allowed",
    ),
    "three macros, spread": (
        "arguments.x . all\n(a, arguments.x.exists (b, size(arguments.x.filter(c, c > 1)) > 0)) // all(",
        "3 macros stand inside of each other, at most 2 are allowed",
    ),
    "item named as a root": ("arguments.x.all(name, name != '')", "'name' cannot name an item in all(...)"),
    "pattern": ("name.matches('(')", "'(' is not a valid regular expression, or takes too much memory"),
    "huge pattern": (r"name.matches(r'((\w{100}){100}){100}')", "is not a valid regular expression, or takes too much"),
    "pattern from data": ("name.matches(arguments.x)", "the pattern of 'matches' must be a literal"),
    "pattern made of data": ("name.matches('a' + arguments.x)", "the pattern of 'matches' must be a literal"),
    "pattern in a macro": (
        "arguments.x.all(i, i.matches('^[a-z]+$'))",
        "'matches' cannot be inside of a macro; use contains, startsWith or endsWith there",
    ),
    "many patterns": (" || ".join(["name.matches('a')"] * 6), "it has 6 patterns, at most 5 are allowed"),
    "many macros": (" || ".join(["arguments.x.all(i, i > 1)"] * 6), "it has 6 macros, at most 5 are allowed"),
    "pattern as a function": ("matches(name, arguments.x)", "the pattern of 'matches' must be a literal"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_refused_when_it_is_made(name: str) -> None:
    text, expected = BAD[name]
    assert expected in refused(text)


def test_words_in_texts_and_comments_are_no_macros() -> None:
    text = '\'.all(a, .all(b, .all(c, \' != name && """x.map(""" != r\'\\\' // .map(x, .matches(name)'
    assert ask(text) is True


def test_macros_after_each_other_are_not_inside_of_each_other() -> None:
    text = "arguments.x.filter(i, i > 1).filter(i, i > 2).exists(i, i == 3) && arguments.x.all(i, i > 0)"
    assert ask(text, {"x": [1, 2, 3]}) is True


def test_every_function_that_may_be_called_is_there() -> None:
    for name in FUNCTIONS:
        for text in (
            f"{name}(1)",
            f"{name}('a')",
            f"'a'.{name}()",
            f"'a'.{name}('a')",
            f"timestamp('2026-01-01T00:00:00Z').{name}()",
        ):
            try:
                cel.evaluate(text)
            except RuntimeError as error:
                if "Undefined variable or function" in str(error):
                    continue
            except Exception:
                pass
            break
        else:
            pytest.fail(f"{name} is not there")


def test_types() -> None:
    for name in TYPES:
        assert ask(f"type(arguments.x) == {name} || type(arguments.x) == int", {"x": 1}) is True
    assert ask("type(arguments.x) == string ? arguments.x == 'a' : arguments.x > 1", {"x": "a"}) is True


KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.one_of(
    st.integers(-3, 3), st.booleans(), st.sampled_from(["", "a", "bb"]), st.lists(st.integers(0, 3), max_size=3)
)
READS = st.one_of(
    KEYS.map("arguments.{}".format),
    KEYS.map("arguments['{}']".format),
    KEYS.map("arguments\n. {} // arguments.c\n".format),
    KEYS.map("arguments[arguments.{}]".format),
    st.sampled_from(["1", "'arguments.a'", "size(arguments)", "[1, 2]", r"r'\'"]),
)
QUESTIONS = st.recursive(
    st.one_of(
        st.builds("({} == {})".format, READS, READS),
        st.builds("({} > {})".format, READS, READS),
        st.builds("has(arguments.{})".format, KEYS),
        st.builds("({} in arguments)".format, READS),
        st.builds("({}.{}(x, x == {}))".format, READS, st.sampled_from(["all", "exists"]), READS),
    ),
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("!{}".format, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=4,
)


@given(text=QUESTIONS, arguments=st.dictionaries(KEYS, VALUES))
def test_reading_only_what_is_referenced_changes_no_answer(text: str, arguments: dict[str, Any]) -> None:
    try:
        expected = cel.evaluate(text, {"arguments": arguments})
    except Exception:
        expected = "error"
    condition = compile_condition(text)
    with (
        operation("tool.execute", "t", request={"arguments": arguments}),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(_condition_types, "difference", lambda *_: None)  # for test_condition_types.py
        op = spanhook.current_operation()
        assert op is not None
        try:
            found: Any = condition(op)
        except ConditionError:
            found = "error"
    assert found == expected


def test_one_condition_in_many_threads() -> None:
    condition, wrong = compile_condition("arguments.n % 2 == 0"), list[Any]()
    hooks = Hooks()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        if condition(op) != (op.request.arguments["n"] % 2 == 0):
            wrong.append(op)

    def work(start: int) -> None:
        for n in range(start, start + 50):
            with operation("tool.execute", "t", request={"arguments": {"n": n}}):
                pass

    with recorder(hooks):
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert wrong == []


def test_arguments_as_a_model_sends_them() -> None:
    deep = json.loads("[" * 900 + "]" * 900)
    with pytest.raises(ConditionError, match="nested more than 32 deep"):
        ask("arguments.x != 1", {"x": deep})
