"""``Reject``: raised again and again, in several threads, copied and pickled."""

import copy
import multiprocessing
import pickle
import threading
import traceback
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from tests.stub import MODES, stubbed, use

DENIED = Reject("no", status_code=402)


class Unpaid(Reject):
    """One whose arguments are its own."""

    __slots__ = ("seats",)

    def __init__(self, *, plan: str, seats: list[int]) -> None:
        super().__init__(f"not on {plan}", status_code=402)
        self.plan, self.seats = plan, seats


class Silent(Reject):
    def __init__(self) -> None:
        self.code = 7


class Gone(Reject, OSError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is gone", status_code=410)
        self.path = path


REJECTS = (Reject("no", status_code=402, scope="run"), Unpaid(plan="free", seats=[1]), Silent(), Gone("/x"))


def said(reject: Reject) -> tuple[Any, ...]:
    own = {**vars(reject), **({"seats": reject.seats} if isinstance(reject, Unpaid) else {})}
    return type(reject), reject.args, str(reject), reject.reason, reject.status_code, reject.scope, own


def test_reject() -> None:
    assert isinstance(DENIED, spanhook.SpanhookError)
    assert (Reject().status_code, Reject().scope, str(Reject())) == (403, "operation", "Rejected")


@pytest.mark.parametrize("reject", REJECTS, ids=lambda one: type(one).__name__)
def test_a_copy_has_the_class_and_its_attributes(reject: Reject) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert said(pickle.loads(pickle.dumps(reject, protocol))) == said(reject)
    assert said(copy.copy(reject)) == said(reject)
    twin = copy.deepcopy(reject)
    assert said(twin) == said(reject)
    if isinstance(twin, Unpaid) and isinstance(reject, Unpaid):
        assert twin.seats is not reject.seats


@pytest.mark.slow
def test_another_process_gets_the_class_and_its_attributes() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert [said(one) for one in pool.map(copy.copy, REJECTS)] == [said(one) for one in REJECTS]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reject", REJECTS, ids=lambda one: type(one).__name__)
def test_a_hook_may_raise_any(mode: str, reject: Reject) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def deny(op: Operation) -> None:
        raise reject

    with stubbed(hooks) as (library, seen):
        for _ in range(2):
            with pytest.raises(type(reject)) as caught:
                use(library, mode, "hi")
            assert said(caught.value) == said(reject)
        assert library.calls == []
    assert [op.decisions[0].reason for op in seen.operations] == [reject.reason] * 2


def length(reject: BaseException) -> int:
    return len(traceback.extract_tb(reject.__traceback__))


@pytest.mark.one_value
@pytest.mark.parametrize("form", ["before", "async before", "after", "on_error", "around", "wrap", "returned", "run"])
def test_one_that_is_kept_does_not_grow(form: str) -> None:
    hooks, denied, lengths = Hooks(), Reject("no", scope="run" if form == "run" else "operation"), set[int]()

    def deny(op: Operation) -> Any:
        if form == "returned":
            return denied
        try:
            raise KeyError(op.name)
        except KeyError:
            raise denied  # noqa: B904

    async def adeny(op: Operation, *_call_next: Any) -> None:
        deny(op)

    def around(op: Operation) -> Any:
        deny(op)
        yield

    match form:
        case "async before":
            hooks.before("llm.call")(adeny)
        case "after" | "on_error":
            getattr(hooks, form)("llm.call", priority=10)(deny)
        case "around":
            hooks.around("llm.call")(around)
        case "wrap":
            hooks.around("llm.call")(adeny)
        case _:
            hooks.before("llm.call")(deny)
    with stubbed(hooks) as (library, _):
        for number in range(1_000 if form == "before" else 50):
            with pytest.raises((Reject, LookupError)) as caught:
                library.work(LookupError() if form == "on_error" else "hi")
            error = caught.value
            assert error is not denied
            error.add_note("seen")
            assert error.__notes__ == ["seen"]
            if number:
                lengths.add(length(error))
                assert error.__context__ is None
    assert len(lengths) == 1
    assert (length(denied), denied.__context__, denied.__cause__) == (0, None, None)
    assert "__notes__" not in vars(denied)


def test_the_first_time_tells_where_and_why() -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def deny(op: Operation) -> None:
        try:
            raise KeyError("plan")
        except KeyError as error:
            raise Reject("no") from error

    with stubbed(hooks) as (library, _):
        for _ in range(2):
            with pytest.raises(Reject) as caught:
                library.work("hi")
            assert isinstance(caught.value.__cause__, KeyError)
            assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "deny"


def test_threads_that_raise_the_same_do_not_see_one_another() -> None:
    hooks, together, wrong = Hooks(), threading.Barrier(2, timeout=30), list[object]()

    def first(op: Operation) -> Reject:
        return DENIED

    @hooks.before("llm.call", timeout=None)
    def deny(op: Operation) -> None:
        secret = op.request.inputs
        try:
            raise KeyError(secret)
        except KeyError:
            try:
                raise DENIED
            finally:
                together.wait()  # both have raised it, and neither has left

    with stubbed(hooks) as (library, _):
        hooks.before("llm.call", priority=1)(first)
        with pytest.raises(Reject):
            library.work("zero")
        hooks.remove(first)

        def call(secret: str) -> None:
            for _ in range(200):
                try:
                    library.work(secret)
                except Reject as error:
                    if error.__context__ is not None or error.__cause__ is not None or error is DENIED:
                        wrong.append(error.__context__)
                    for frame, _line in traceback.walk_tb(error.__traceback__):
                        if frame.f_locals.get("secret", secret) != secret:
                            wrong.append(frame)

        threads = [threading.Thread(target=call, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert (length(DENIED), DENIED.__context__) == (0, None)


def test_what_a_rejected_run_refuses_later_has_the_class_too() -> None:
    hooks, later = Hooks(), list[BaseException]()

    @hooks.before("llm.call", when=lambda op: op.request.inputs == "inner")
    def deny(op: Operation) -> None:
        error = Unpaid(plan="free", seats=[1])
        error.scope = "run"
        raise error

    with stubbed(hooks) as (library, seen):

        def body() -> str:
            for _ in range(2):
                try:
                    library.work("inner")
                except BaseException as error:
                    later.append(error)
            return "done"

        with pytest.raises(Unpaid):
            library.work(body)
    assert len(later) == 2
    assert all(isinstance(op.error, Unpaid) for op in seen.operations)
