"""Nothing that a hook does wrong while it refuses lets the call pass, although the hook fails open."""

import asyncio
import http
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.gating import Windowed
from spanhook.model import joined
from spanhook.testing import recorder


class Breaks(Reject):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        raise KeyError(reason)


class Takes(Reject):
    def __init__(self, reason: str, plan: str) -> None:
        super().__init__(f"{reason}, {plan}")


class Succeeds(Reject):
    status_code = 200

    def __init__(self, reason: str) -> None:
        Exception.__init__(self, reason)


class Stops(Reject, StopIteration):
    """Coroutines and generators make a ``RuntimeError`` of it."""


class StopsAsync(Reject, StopAsyncIteration):
    """Asynchronous generators do."""


class Unreadable:
    def __str__(self) -> str:
        raise ValueError("nobody reads it")


def refusal(*args: Any, cls: type[Reject] = Reject, **kwargs: Any) -> Callable[[], NoReturn]:
    def refuse() -> NoReturn:
        raise cls(*args, **kwargs)

    return refuse


def in_a_finally() -> None:
    try:
        raise Reject("no", status_code=402)
    finally:
        raise ConnectionError("the audit log is down")


def in_an_except() -> None:
    try:
        raise Reject("no", status_code=402)
    except Reject as reject:
        raise PermissionError("no") from reject


def in_a_group() -> None:
    raise ExceptionGroup("checks", [ValueError("x"), ExceptionGroup("more", [Reject("no", status_code=402)])])


def edited() -> None:
    reject: Any = Reject("no")
    reject.status_code, reject.scope, reject.reason, reject.retry_after = "x", ["run"], Unreadable(), "soon"
    raise reject


def class_alone() -> None:
    raise Takes  # pyright: ignore[reportGeneralTypeIssues]


REFUSALS: dict[str, tuple[Callable[[], None], int, str]] = {
    "a status that is text": (refusal("no", status_code="402"), 500, "no"),
    "a status of success": (refusal("no", status_code=204), 500, "no"),
    "a redirect": (refusal("no", status_code=302), 500, "no"),
    "a negative status": (refusal("no", status_code=-1), 500, "no"),
    "a status above 599": (refusal("no", status_code=600), 500, "no"),
    "a bool": (refusal("no", status_code=True), 500, "no"),
    "a float": (refusal("no", status_code=403.0), 500, "no"),
    "no status": (refusal("no", status_code=None), 500, "no"),
    "a member of an enum": (refusal("no", status_code=http.HTTPStatus.PAYMENT_REQUIRED), 402, "no"),
    "an unknown scope": (refusal("no", scope="all"), 500, "no"),
    "a scope that is a list": (refusal("no", scope=[]), 500, "no"),
    "an unknown argument": (refusal("no", status=402), 500, "no"),
    "a status by position": (refusal("no", 402), 500, "no"),
    "an __init__ that fails": (refusal("no", cls=Breaks), 500, "no"),
    "an argument too few": (refusal("no", cls=Takes), 500, "no"),
    "a class of its own status": (refusal("no", cls=Succeeds), 500, "Rejected"),
    "a class alone": (class_alone, 500, "Rejected"),
    "no reason": (refusal(None), 403, "None"),
    "a reason that cannot be read": (refusal(Unreadable()), 403, "Rejected"),
    "a wait that is text": (refusal("no", retry_after="soon"), 403, "no"),
    "facts that are text": (refusal("no", facts="x"), 403, "no"),
    "facts of other types": (refusal("no", facts={"a": [1]}), 403, "no"),
    "a wait without end": (refusal("no", retry_after=float("inf")), 403, "no"),
    "edited": (edited, 500, "Rejected"),
    "a failure in a finally": (in_a_finally, 402, "no"),
    "a failure in an except": (in_an_except, 402, "no"),
    "a group": (in_a_group, 402, "no"),
}


def sync(hooks: Hooks, refuse: Callable[[], None]) -> None:
    @hooks.before("tool.execute", priority=100)
    def gate(_op: Operation) -> None:
        refuse()


def blocking(hooks: Hooks, refuse: Callable[[], None]) -> None:
    @hooks.before("tool.execute", priority=100, blocking=True)
    def gate(_op: Operation) -> None:
        refuse()


def waiting(hooks: Hooks, refuse: Callable[[], None]) -> None:
    @hooks.before("tool.execute", priority=100)
    async def gate(_op: Operation) -> None:
        await asyncio.sleep(0)
        refuse()


def yielding(hooks: Hooks, refuse: Callable[[], None]) -> None:
    @hooks.around("tool.execute", priority=100)
    def gate(_op: Operation) -> Iterator[None]:
        refuse()
        yield


def wrapping(hooks: Hooks, refuse: Callable[[], None]) -> None:
    @hooks.around("tool.execute", priority=100)
    async def gate(_op: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
        refuse()
        return await call_next()


FORMS = (sync, blocking, waiting, yielding, wrapping)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_refusal_with_a_mistake_refuses(form: Callable[[Hooks, Callable[[], None]], None]) -> None:
    for name, (refuse, status, reason) in REFUSALS.items():
        hooks, ran = Hooks(), list[int]()
        form(hooks, refuse)

        @spanhook.tool("pay")
        async def pay(ran: list[int] = ran) -> None:
            ran.append(1)

        with recorder(hooks) as seen, pytest.raises(Reject) as raised:
            asyncio.run(pay())
        reject = raised.value
        assert not ran, name
        assert (reject.status_code, reject.scope, reject.reason, reject.retry_after) == (
            *(status, "operation", reason),
            None,
        ), name
        decisions = [(one.decision, one.status_code) for op in seen.operations for one in op.decisions]
        assert decisions == [("reject", status)], name


@pytest.mark.parametrize("cls", [Stops, StopsAsync])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_refusal_of_which_python_makes_a_runtime_error_refuses(
    form: Callable[[Hooks, Callable[[], None]], None], cls: type[Reject]
) -> None:
    hooks, ran = Hooks(), list[int]()
    form(hooks, refusal("no", cls=cls, status_code=402))

    @spanhook.tool("pay")
    def pay() -> None:
        ran.append(1)

    with recorder(hooks) as seen, pytest.raises(Reject):
        pay()
    assert not ran
    decisions = [(one.decision, one.status_code) for op in seen.operations for one in op.decisions]
    assert decisions == [("reject", 402)]


def test_an_exception_of_the_library_may_have_a_metaclass() -> None:
    class Meta(type):
        pass

    class Own(Exception, metaclass=Meta):
        pass

    error = joined(Reject("no", status_code=402), Own("theirs"))
    assert isinstance(error, Own)
    assert (error.reason, error.status_code) == ("no", 402)


def test_it_is_logged_once_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "spanhook"):
        for _ in range(3):
            Reject("secret", status_code="secret")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    (line,) = (record.getMessage() for record in caplog.records)
    assert "status_code of a Reject that refuses a call is a str; expected 400 to 599" in line
    assert f"{__file__}:" in line
    assert "secret" not in line


def test_a_failure_while_an_earlier_refusal_is_handled_is_a_failure() -> None:
    """The application handles the refusal of one call, and makes another one, whose hook fails open."""
    hooks, ran = Hooks(), list[str]()

    @hooks.before("tool.execute", priority=100)
    def gate(op: Operation) -> None:
        if op.name == "refused":
            raise Reject("no")
        raise ConnectionError("the audit log is down")

    @spanhook.tool("refused")
    def refused() -> None:
        ran.append("refused")

    @spanhook.tool("other")
    def other() -> None:
        ran.append("other")

    with recorder(hooks):
        try:
            refused()
        except Reject:
            other()
    assert ran == ["other"]


def test_a_hook_takes_a_refusal_back() -> None:
    hooks, ran = Hooks(), list[int]()

    @hooks.before("tool.execute", priority=100)
    def gate(_op: Operation) -> None:
        try:
            raise Reject("no")
        except Reject:
            raise ConnectionError("after all") from None

    @spanhook.tool("pay")
    def pay() -> None:
        ran.append(1)

    with recorder(hooks):
        pay()
    assert ran == [1]


def returning_before(hooks: Hooks, value: Any) -> None:
    @hooks.before("tool.execute", priority=100)
    def gate(_op: Operation) -> Any:
        return value


def responding(hooks: Hooks, value: Any) -> None:
    @hooks.before("tool.execute", priority=100)
    def gate(op: Operation) -> None:
        op.respond(value)


def returning_in_place_of_a_yield(hooks: Hooks, value: Any) -> None:
    @hooks.around("tool.execute", priority=100)
    def gate(op: Operation) -> Iterator[None]:
        if op.name:
            return value
        yield


def returning_without_the_call(hooks: Hooks, value: Any) -> None:
    @hooks.around("tool.execute", priority=100)
    async def gate(_op: Operation, _call_next: Callable[[], Awaitable[Any]]) -> Any:
        return value


def returning_after(hooks: Hooks, value: Any) -> None:
    @hooks.after("tool.execute")
    def gate(_op: Operation) -> Any:
        return value


def returning_after_waiting(hooks: Hooks, value: Any) -> None:
    @hooks.after("tool.execute")
    async def gate(_op: Operation) -> Any:
        await asyncio.sleep(0)
        return value


def returning_in_a_worker(hooks: Hooks, value: Any) -> None:
    @hooks.after("tool.execute", blocking=True)
    def gate(_op: Operation) -> Any:
        return value


def returning_after_a_yield(hooks: Hooks, value: Any) -> None:
    @hooks.around("tool.execute", priority=100)
    def gate(_op: Operation) -> Iterator[None]:
        yield
        return value


def returning_after_the_call(hooks: Hooks, value: Any) -> None:
    @hooks.around("tool.execute", priority=100)
    async def gate(_op: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
        await call_next()
        return value


REFUSING = (returning_before, responding, returning_in_place_of_a_yield, returning_without_the_call)
WITHHOLDING = (
    returning_after,
    returning_after_waiting,
    returning_in_a_worker,
    returning_after_a_yield,
    returning_after_the_call,
)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("value", [Reject, Reject("no"), Succeeds("no")], ids=["class", "instance", "mistaken"])
@pytest.mark.parametrize("form", [*REFUSING, *WITHHOLDING], ids=lambda form: form.__name__)
def test_a_refusal_that_is_returned_refuses(form: Callable[[Hooks, Any], None], value: Any, is_async: bool) -> None:
    hooks, ran = Hooks(), list[int]()
    form(hooks, value)

    @spanhook.tool("pay")
    def pay() -> str:
        ran.append(1)
        return "secret"

    @spanhook.tool("pay")
    async def apay() -> str:
        ran.append(1)
        return "secret"

    with recorder(hooks) as seen, pytest.raises(Reject):
        asyncio.run(apay()) if is_async else pay()
    assert ran == ([] if form in REFUSING else [1])
    assert [one.decision for op in seen.operations for one in op.decisions] == ["reject"]


def test_text_of_a_stream_for_which_a_refusal_is_returned_does_not_go_out() -> None:
    def text(_text: str) -> Any:
        return Reject("no")

    with pytest.raises(Reject):
        Windowed(text, 0).feed("secret")


@dataclass(frozen=True)
class Frozen(Reject):
    """Cannot be given a traceback, a cause or a context by assignment."""

    reason: str = "no"


def test_a_refusal_that_cannot_be_changed_refuses_as_it_is() -> None:
    refuse = Frozen()

    @spanhook.tool("pay")
    def pay() -> None: ...

    hooks = Hooks()

    @hooks.before("tool.execute", priority=100)
    def gate(_op: Operation) -> None:
        try:
            raise refuse
        finally:
            raise ConnectionError("the audit log is down")

    for _ in range(2):
        with recorder(hooks), pytest.raises(Reject) as raised:
            pay()
        assert raised.value.reason == "no"
        assert refuse.__context__ is None


@pytest.mark.parametrize("is_async", [False, True])
def test_a_hook_that_a_cancellation_leaves_while_it_refuses_refuses(is_async: bool) -> None:
    hooks, ran = Hooks(), list[int]()

    @hooks.before("tool.execute", priority=100)
    async def gate(_op: Operation) -> None:
        try:
            raise Reject("no", status_code=402)
        finally:
            writing = asyncio.ensure_future(asyncio.Event().wait())
            writing.cancel()
            await writing

    @spanhook.tool("pay")
    def pay() -> None:
        ran.append(1)

    @spanhook.tool("pay")
    async def apay() -> None:
        ran.append(1)

    with recorder(hooks), pytest.raises(Reject) as raised:
        asyncio.run(apay()) if is_async else pay()
    assert (raised.value.status_code, ran) == (402, [])
