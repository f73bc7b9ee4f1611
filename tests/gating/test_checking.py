"""Settings of hooks: what is taken, what is refused, and that a mistake is named with its line and its fix."""

import datetime as dt
import enum
import functools
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest

from spanhook import ConfigurationError, Hook, Hooks, Operation, Reject
from tests.stub import stubbed

LABELS = ("names", "models", "agents")


class Tool(enum.StrEnum):
    SEARCH = "search"


unset: Any = None


def noop(op: Operation) -> None:
    return None


async def awhen(op: Operation) -> bool:
    return False


def by_class(**settings: Any) -> Hook:
    """A hook with these as class attributes."""
    return type("Gate", (Hook,), {"before": lambda self, op: None, "after": lambda self, op: None, **settings})()


def by_constructor(**settings: Any) -> Hook:
    """A hook with these as attributes of the object."""
    gate = by_class()
    for name, value in settings.items():
        setattr(gate, name, value)
    return gate


def by_decorator(**settings: Any) -> Any:
    kinds = settings.pop("kinds", ("*",))
    hooks = Hooks()
    hooks.before(*(kinds if isinstance(kinds, Iterable) else (kinds,)), **settings)(noop)
    return next(iter(hooks))


FORMS: dict[str, Callable[..., Hook]] = {
    "class": by_class,
    "constructor": by_constructor,
    "decorator": by_decorator,
}
form = pytest.mark.parametrize("form", FORMS)


def bound(form: str, **settings: Any) -> list[Any]:
    return Hooks(FORMS[form](**settings)).bound


def refused(form: str, **settings: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        bound(form, **settings)
    assert "\n" not in str(caught.value)
    assert f"{__file__}, line " in str(caught.value)
    return str(caught.value)


SETS: dict[str, Callable[[], Any]] = {
    "set": lambda: {"search", "fetch"},
    "list": lambda: ["search", "fetch"],
    "dict": lambda: {"search": 1, "fetch": 2},
    "keys": lambda: {"search": 1, "fetch": 2}.keys(),
    "values": lambda: {1: "search", 2: "fetch"}.values(),
    "generator": lambda: (one for one in ("search", "fetch")),
    "iterator": lambda: iter(["search", "fetch"]),
    "map": lambda: map(str.lower, ("SEARCH", "FETCH")),
    "enumeration": lambda: iter([Tool.SEARCH, "fetch"]),
}


@form
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("given", SETS)
def test_whatever_gives_strings_is_read_once(form: str, label: str, given: str) -> None:
    for one in bound(form, **{label: SETS[given]()}):
        assert getattr(one, label) == {"search", "fetch"}
        assert {type(item) for item in getattr(one, label)} == {str}
        assert one.selective


@pytest.mark.parametrize("label", LABELS)
def test_an_iterator_serves_all_that_read_it(label: str) -> None:
    cls = type("Gate", (Hook,), {"before": lambda self, op: None, label: iter(["search"])})
    first, second = cls(), cls()
    given = by_constructor(**{label: iter(["search"])})
    for hook in (first, second, given, given):
        assert getattr(Hooks(hook).bound[0], label) == {"search"}
    hooks, names = Hooks(), iter(["search"])
    settings: Any = {label: names}
    gate = hooks.before("*", **settings)
    gate(noop)
    gate(lambda op: None)
    hooks.on("*", noop, **{label: iter(["search"])})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert [getattr(one, label) for one in hooks.bound] == [{"search"}] * 3
    with pytest.raises(ConfigurationError, match="have been used up"):
        hooks.before("*", **settings)(noop)


@form
def test_kinds_may_come_from_an_iterator(form: str) -> None:
    for one in bound(form, kinds=iter(["llm.call", "tool.execute"])):
        assert one.kinds == {"llm.call", "tool.execute"}


def test_names_that_change_later_change_nothing() -> None:
    tools = {"search": 1}
    hooks = Hooks()
    hooks.before("tool.execute", names=tools.keys())(noop)
    tools["refund"] = 2
    assert hooks.bound[0].names == {"search"}


NO_SETS: dict[str, tuple[Any, str]] = {
    "string": ("search", "expected a set of strings such as {'search'}"),
    "bytes": (b"search", "expected a set of strings"),
    "numbers": ({1}, "expected a set of strings"),
    "mixed": (["search", None], "expected a set of strings"),
    "number": (7, "expected a set of strings"),
    "function": (noop, "expected a set of strings"),
    "bool": (True, "expected a set of strings"),
    "empty set": (set[str](), "is empty (an iterator may have been used up), so it would never run"),
    "empty string": ("", "expected a set of strings"),
    "empty generator": ((one for one in ""), "is empty"),
}


@form
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("given", NO_SETS)
def test_what_is_no_set_of_strings_is_refused(form: str, label: str, given: str) -> None:
    value, said = NO_SETS[given]
    message = refused(form, **{label: iter([]) if given == "empty generator" else value})
    assert f"{label}=" in message
    assert said in message


@pytest.mark.parametrize("form", ["class", "constructor"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "kinds=() is empty (an iterator may have been used up), so it would never run; write ('*',) for all"),
        (iter(()), "is empty (an iterator may have been used up), so it would never run"),
        (None, "kinds=None, expected kinds such as"),
        (7, "kinds=7, expected kinds"),
        ((("llm.call",),), "('llm.call',) is not a kind"),
        (("llm.cal",), "unknown kind 'llm.cal' (did you mean 'llm.call'?); expected '*' or one of run"),
        (("Tool.Execute",), "did you mean 'tool.execute'?"),
        (("tool.execute.pre",), "(an event; write 'tool.execute')"),
    ],
)
def test_kinds_that_are_none_are_refused(form: str, given: Any, said: str) -> None:
    assert said in refused(form, kinds=given)


NO_TIMEOUTS = (float("inf"), float("nan"), 1e30, 10**400, -1, -0.1, 0, True, "1s", dt.timedelta(1), Decimal(1))


@form
@pytest.mark.parametrize("timeout", NO_TIMEOUTS, ids=repr)
def test_timeouts_that_are_none_are_refused(form: str, timeout: Any) -> None:
    assert "expected seconds above 0, up to 31536000 (a year), or None for no limit" in refused(form, timeout=timeout)


@form
def test_timeouts_that_can_be_waited_for_are_taken(form: str) -> None:
    for timeout, expected in ((None, None), (1, 10**9), (0.5, 5 * 10**8), (1e-12, 1), (31536000, 31536000 * 10**9)):
        assert {one.timeout_ns for one in bound(form, timeout=timeout)} == {expected}


@pytest.mark.parametrize("timeout", [31536000, None])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_longest_timeout_can_be_waited_for(timeout: Any, mode: str) -> None:
    from tests.stub import use

    hooks, ran = Hooks(), list[str]()

    @hooks.before("llm.call", timeout=timeout)
    async def gate(op: Operation) -> None:
        ran.append("async")

    hooks.before("llm.call", timeout=timeout, blocking=True)(lambda op: ran.append("blocking"))

    @hooks.around("llm.call", timeout=timeout)
    async def around(op: Operation, call_next: Any) -> None:
        await call_next()
        ran.append("around")

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "hi") == "hi"
    assert ran == ["async", "blocking", "around"]
    assert not seen.operations[0].decisions


@pytest.mark.parametrize("timeout", [float("inf"), float("nan"), 1e30, -1, True, "1s"], ids=repr)
def test_a_flush_that_cannot_be_waited_for_is_refused(timeout: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"timeout=.*, expected seconds from 0 to .*test_checking\.py, line"):
        Hooks().flush(timeout)
    assert Hooks().flush(None)
    assert Hooks().flush(0)


@form
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"name": {"search"}},
            "name={'search'}, expected a string to call the hook by; did you mean names={'search'}?",
        ),
        ({"name": 7}, "name=7, expected a string"),
        ({"name": set()}, "name=set(), expected a string"),
        ({"tenant_id": {"acme"}}, "tenant_id={'acme'}, expected a string"),
        ({"tenant_id": None}, "tenant_id=None, expected a string, or '' for all"),
        ({"blocking": "yes"}, "blocking='yes', expected True or False"),
        ({"stream": True}, "stream=True, expected 'buffer', 'window' or 'observe'"),
        ({"stream": "hold"}, "stream='hold', expected 'buffer', 'window' or 'observe'"),
        ({"when": awhen}, "is async or a generator, so its return value always counts as true"),
        ({"when": functools.partial(noop, unset)}, "when takes () -> None; it is called with (op)"),
    ],
    ids=lambda given: given if isinstance(given, str) else next(iter(given)),
)
def test_settings_of_the_wrong_type_are_refused(form: str, settings: dict[str, Any], said: str) -> None:
    if form == "class" and "when" in settings:
        settings = {"when": staticmethod(settings["when"])}
    assert said in refused(form, **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"nmaes": {"x"}}, "unknown hook setting nmaes={'x'} (did you mean 'names'?); expected one of name, priority"),
        ({"tools": {"x"}}, "(did you mean 'names'?)"),
        ({"model": "x"}, "(did you mean 'models'?)"),
        ({"tenant": "x"}, "(did you mean 'tenant_id'?)"),
        ({"Timeout": 1}, "(did you mean 'timeout'?)"),
        ({"kinds": ("llm.call",)}, "kinds and events are not named: write @hooks.before('tool.execute', ...)"),
        ({"zzz": 1}, "unknown hook setting zzz=1; expected one of"),
    ],
    ids=str,
)
def test_misspelt_settings_are_named(settings: Any, said: str) -> None:
    for register in (
        lambda hooks: hooks.before("*", **settings),
        lambda hooks: hooks.on("*", noop, **settings),
        lambda hooks: hooks.on("*", **settings),
    ):
        with pytest.raises(ConfigurationError) as caught:
            register(Hooks())
        assert said in str(caught.value)
        assert f"{__file__}, line " in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("nmaes", {"x"}), ("tool", None), ("timout", 1), ("tenant", "acme"), ("model", {"x"}), ("agent", ["x"])],
)
def test_misspelt_attributes_are_named(name: str, value: Any) -> None:
    for form in ("class", "constructor"):
        if name != "tool":
            assert f"{name!r} is not a setting of a hook; did you mean" in refused(form, **{name: value})
    assert "'befor' is not a method of a hook; did you mean 'before'?" in refused("class", befor=noop)
    assert "'wen' is not a method of a hook; did you mean 'when'?" in refused("class", wen=noop)


def test_what_a_hook_keeps_for_itself_is_its_own() -> None:
    gate = by_class(judge=noop, calls=1, _names={"x"}, Config=type("Config", (), {}))
    gate.__dict__.update(model="judge-1", agent="x", limit={"x"}, client=object(), tools=["x"])
    assert len(Hooks(gate).bound) == 2


def test_events_that_are_none_are_refused() -> None:
    on: Any = Hooks().on
    for event, said in (
        ("agent.invoke.pots", "unknown event 'agent.invoke.pots' (did you mean 'agent.invoke.post'?); expected '*'"),
        ("tool.excute", "did you mean 'tool.execute'?"),
        ("tool.execute.before", "unknown event 'tool.execute.before' (did you mean 'tool.execute.pre'?)"),
        (noop, "write the event in parentheses, such as @hooks.on('agent.invoke.post')"),
        (7, "unknown event 7; expected"),
        (None, "unknown event None; expected"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            on(event)
        assert said in str(caught.value)
        assert f"{__file__}, line " in str(caught.value)
    with pytest.raises(ConfigurationError, match="None is not callable"):
        on("*", None)


def test_a_mistake_in_a_class_names_the_class_too() -> None:
    class Wrong(Hook):
        names = "search"

        def before(self, op: Operation) -> None:
            return None

    first = Wrong.before.__code__.co_firstlineno - 3
    with pytest.raises(ConfigurationError) as caught:
        Hooks().add(Wrong())
    assert caught.value.place.startswith(f"{__file__}, line {first}; added at {__file__}, line ")
    assert str(caught.value).count(__file__) == 2


def test_the_line_is_the_decorators() -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def right(op: Operation) -> None:
        return None

    with pytest.raises(ConfigurationError) as caught:

        @hooks.before("llm.call")
        def wrong() -> None:
            return None

    line = right.__code__.co_firstlineno
    assert hooks.bound[0].place == f"{__file__}, line {line}"
    assert caught.value.place == f"{__file__}, line {line + 6}"


def test_a_misspelt_setting_of_a_class_is_named() -> None:
    class Wide(Hook):
        kind = "tool.execute"

        def before(self, op: Operation) -> None:
            raise Reject("no")

    with pytest.raises(ConfigurationError, match="'kind' is not a setting of a hook; did you mean 'kinds'"):
        Hooks(Wide())


def test_an_event_given_for_a_kind_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"an event; write 'tool.execute'"):
        Hooks().before("tool.execute.pre")(lambda op: None)
