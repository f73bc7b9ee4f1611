"""Ctrl-C at any instruction: what was running ends, nothing stays current, and what comes next is as if nothing was."""

import asyncio
import gc
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from spanhook import Hook, Hooks, Operation, Reject, current_operation
from spanhook.cli.conformance.libraries import own_code
from spanhook.cli.conformance.libraries.hearing import listening
from spanhook.cli.conformance.subject import Body, Subject
from spanhook.concurrency import reaper
from spanhook.diagnostics import internal
from spanhook.testing import Recorder, recorder
from tests.conformance.everything import HERE, SUBJECTS
from tests.interrupts import Interrupts
from tests.stub import Library, stubbed

pytestmark = pytest.mark.filterwarnings(
    # Of a coroutine whose first step is interrupted Python says so. Nothing can be done about it, and it is no harm.
    "ignore:.*coroutine .* was never awaited:RuntimeWarning",
    "ignore:.*coroutine .* was never awaited:pytest.PytestUnraisableExceptionWarning",
    # LangChain's own, of the generator that suppresses its warnings.
    "ignore:Exception ignored in. <generator object suppress:pytest.PytestUnraisableExceptionWarning",
)

Call = Callable[[], Any]


async def _letters(library: Library) -> str:
    return "".join([letter async for letter in library.awords("hey")])


async def _session(library: Library) -> str:
    async with library.asession("hey") as given:
        await asyncio.sleep(0)
        return given


async def _opened(library: Library) -> str:
    async with library.aopened("hey") as letters:
        return "".join([letter async for letter in letters])


def _one_letter(library: Library) -> str:
    return next(library.words("hey"))


STUB: dict[str, Callable[[Library], Any]] = {
    "call": lambda library: library.work("hey"),
    "coroutine": lambda library: library.awork("hey"),
    "stream": lambda library: "".join(library.words("hey")),
    "dropped stream": _one_letter,
    "async stream": _letters,
    "async context": _session,
    "async context of a stream": _opened,
}
WAYS = {
    "chat": ("invoke", "ainvoke", "stream", "astream"),
    "tool": ("invoke",),
    "async tool": ("ainvoke",),
    "retriever": ("invoke",),
    "store": ("put", "aput"),
    "graph": ("invoke", "ainvoke", "stream", "astream"),
    "handoff": ("invoke", "ainvoke"),
    "ChatOpenAI": ("invoke", "ainvoke"),
    "openai chat": ("stream",),  # the async one leaves connections open, which asyncio complains of
    "own model": ("with, result_of", "async with, aresult_of", "acall", "stream of a block", "stream handed out"),
    "own model, bare": ("with", "async with"),
}


def rows(subjects: tuple[Subject, ...]) -> list[Any]:
    named = [(subject, way) for subject in subjects for way in WAYS.get(subject.name, ())]
    return [pytest.param(subject, way, id=f"{subject.name} {way}", marks=_marks(subject)) for subject, way in named]


def _marks(subject: Subject) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),) if subject.name in LEAVING else ()


LEAVING = ("openai chat",)
"""Clients that leave connections open where they are interrupted, with and without spanhook."""


@pytest.fixture
def closed(subject: Subject) -> Iterator[None]:
    """What is left open is closed in its own test, not in one that comes later."""
    yield
    if subject.name in LEAVING:
        gc.collect()


PLACES = {"graph": 100, "handoff": 95, "ChatOpenAI": None}
"""In how many places each is interrupted: fewer where runs are long, everywhere where one call is within another."""


class Guard:
    """Hooks of every form, which remember what they saw begin, and refuse when they are told to.

    Args:
        hooked: Whether there are any.
        windowed: Whether one of them sees the text of streams before it goes out.
    """

    def __init__(self, hooked: bool = True, *, windowed: bool = False) -> None:
        self.begun: list[Operation] = []
        self.refuse = False
        self.hooks = Hooks()
        if hooked:
            self._fill()
        if windowed:
            self.hooks.add(Windowed())

    def _fill(self) -> None:
        @self.hooks.before("*", priority=1)
        def before(op: Operation) -> None:
            self.begun.append(op)
            if self.refuse:
                raise Reject("not now", scope="run")

        @self.hooks.around("*")
        def around(_op: Operation) -> Iterator[None]:
            yield

        @self.hooks.after("*")
        def after(_op: Operation) -> None: ...

        @self.hooks.on_error("*")
        def failed(_op: Operation) -> None: ...


class Windowed(Hook):
    """One that makes letters big."""

    stream = "window"
    window = 1
    fail_mode = "closed"

    def text(self, op: Operation, text: str) -> str:
        return text.upper()

    def after(self, op: Operation) -> None: ...


class Timeout(Exception):
    """What a job server raises from its signal handler when a job may not go on."""


class Fuzz:
    """Interrupts a call at one place after the other and looks at what that leaves behind.

    Args:
        call: What is called; may return a coroutine.
        seen: What spanhook records.
        guard: The hooks in force.
        raising: What an interrupt raises.
    """

    def __init__(
        self, call: Call, seen: Recorder, guard: Guard, raising: type[BaseException] = KeyboardInterrupt
    ) -> None:
        self.call, self.seen, self.guard, self.raising = call, seen, guard, raising
        self._loop = asyncio.new_event_loop()

    def sweep(self, *, everywhere: bool = False, places: int | None = None) -> tuple[int, Counter[str]]:
        """Interrupt everywhere, or in so many places; how many interrupts there were, and what was wrong how often."""
        try:
            self._make()
            self._make()
            counting = Interrupts(everywhere=everywhere)
            self._interrupt(counting)
            wrong: Counter[str] = Counter()
            made = 0
            for at in range(0, counting.places, max(1, counting.places // (places or counting.places))):
                interrupts = Interrupts(at, everywhere=everywhere, raising=self.raising)
                wrong.update(f"{what} [{_short(interrupts.where)}]" for what in self._consequences(interrupts))
                made += bool(interrupts.where)
            return made, wrong
        finally:
            self._loop.close()

    def _make(self) -> Any:
        made = self.call()
        return self._loop.run_until_complete(made) if isinstance(made, Coroutine) else made

    def _interrupt(self, interrupts: Interrupts) -> tuple[type[BaseException] | None, list[str]]:
        """Make the call with an interrupt in it: what it raised, and what is otherwise in its context than before."""
        raised: type[BaseException] | None = None
        left: list[str] = []

        async def watch(made: Coroutine[Any, Any, Any]) -> None:
            nonlocal raised
            with unchanged(left):
                try:
                    with interrupts.put_on():
                        await made
                except BaseException as error:
                    raised = raised or type(error)

        with unchanged(left), uncollected():
            try:
                with interrupts.put_on():
                    made = self.call()
                if isinstance(made, Coroutine):
                    self._loop.run_until_complete(watch(made))
            except BaseException as error:
                raised = type(error)
            if tasks := asyncio.all_tasks(self._loop):  # as `asyncio.run` does
                for task in tasks:
                    task.cancel()
                self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        return raised, left

    def _consequences(self, interrupts: Interrupts) -> Iterator[str]:
        self._forget()
        raised, left = self._interrupt(interrupts)
        yield from left
        if self.raising is KeyboardInterrupt and interrupts.where and raised is not self.raising:
            yield f"{raised} was raised"
        reaper.drain()
        if current_operation() is not None:
            yield "an operation is current"
        if self.raising is KeyboardInterrupt:  # any other exception is taken for an error where it is raised
            yield from self._ends(interrupts)
        before = self._traces()
        yield from self._next(before)
        if len(self.guard.hooks):
            yield from self._refused()
            yield from self._next(before)

    def _ends(self, interrupts: Interrupts) -> Iterator[str]:
        """What became of the operations that were interrupted."""
        ended = Counter(self.seen.operations)
        if Counter(self.guard.begun) - ended or any(times > 1 for times in ended.values()):
            yield "an operation has not ended, or more than once"
        if any(op.status not in ("success", "cancelled", "abandoned") for op in ended):
            yield "a status that does not fit"
        if not interrupts.within_sdk:
            if self._runs() != sum(op.parent is None for op in ended):
                yield "not each run was told of once"
            if len(self.seen.spans) != len(ended):
                yield "not each operation has a span"

    def _next(self, before: set[int]) -> Iterator[str]:
        """The next call is a run of its own, in a trace of its own."""
        seen = self.seen
        self._forget()
        self._make()
        reaper.drain()
        if self._runs() != 1 or any(op.status not in ("success", "abandoned") for op in seen.operations):
            yield "the next call is no run of its own"
        if len(self._traces()) != 1 or self._traces() & before or len(seen.spans) != len(seen.operations):
            yield "the next call has no trace of its own"

    def _refused(self) -> Iterator[str]:
        self.guard.refuse = True
        try:
            self._make()
        except Reject:
            pass
        except BaseException as error:
            yield f"a rejection left as {type(error).__name__}"
        else:
            yield "a rejection did not leave"
        self.guard.refuse = False

    def _forget(self) -> None:
        self.guard.begun.clear()
        reaper.drain()
        self.seen.operations.clear()
        self.seen._spans.clear()
        self.seen._logs.clear()

    def _runs(self) -> int:
        return sum(one.log_record.event_name == "spanhook.run" for one in self.seen._logs.get_finished_logs())

    def _traces(self) -> set[int]:
        return {span.context.trace_id for span in self.seen.spans if span.context is not None}


@contextmanager
def unchanged(left: list[str]) -> Generator[None]:
    """Note which context variables are not what they were, and put them back."""
    before = dict(copy_context())
    yield
    for variable, value in copy_context().items():
        was: Any = before.get(variable, _UNSET)
        if value is not was and _watched(variable) and not (was is _UNSET and not value):
            left.append(f"{variable.name} is left")
            variable.set(None if was is _UNSET else was)


@contextmanager
def uncollected() -> Generator[None]:
    """Let no garbage of earlier calls be collected: where its finalizers are interrupted, Python ignores it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _watched(variable: ContextVar[Any]) -> bool:
    """Whether it is spanhook's or OpenTelemetry's: LangChain leaves one of its own, without spanhook too."""
    return variable.name.startswith("spanhook") or variable.name == "current_context"


_UNSET = object()


def _short(where: str) -> str:
    return re.sub(r"^.*/(?=[^/]+/[^/]+:)", "", where)


@pytest.mark.parametrize("hooked", [True, False], ids=["hooks", "no hooks"])
@pytest.mark.parametrize("way", STUB)
def test_in_spanhook(way: str, hooked: bool) -> None:
    guard = Guard(hooked)
    with stubbed(guard.hooks) as (library, seen):
        made, wrong = Fuzz(lambda: STUB[way](library), seen, guard).sweep(places=25)
    assert wrong == {}
    assert made > 20


@pytest.mark.slow
@pytest.mark.every_value
@pytest.mark.parametrize(
    "way", ["async stream", *(pytest.param(way, marks=pytest.mark.slow) for way in ("stream", "dropped stream"))]
)
def test_in_windows(way: str) -> None:
    guard = Guard(windowed=True)
    with stubbed(guard.hooks) as (library, seen):
        made, wrong = Fuzz(lambda: STUB[way](library), seen, guard).sweep(places=150)
    assert wrong == {}
    assert made > 100


@pytest.mark.parametrize("hooked", [True, False], ids=["hooks", "no hooks"])
@pytest.mark.parametrize(("subject", "way"), rows(own_code.SUBJECTS))
def test_in_blocks_of_own_code(subject: Subject, way: str, hooked: bool) -> None:
    guard = Guard(hooked)
    thing = subject.make(Body())
    with recorder(guard.hooks, only=()) as seen:
        made, wrong = Fuzz(lambda: subject.ways[way](thing), seen, guard).sweep(places=25)
    assert wrong == {}
    assert made > 20


@pytest.mark.slow
@pytest.mark.parametrize("raising", [KeyboardInterrupt, Timeout])
@pytest.mark.parametrize("hooked", [True, False], ids=["hooks", "no hooks"])
@pytest.mark.parametrize("way", STUB)
def test_at_every_place_in_spanhook(way: str, hooked: bool, raising: type[BaseException]) -> None:
    guard = Guard(hooked)
    with stubbed(guard.hooks) as (library, seen):
        internal.fatal = raising is KeyboardInterrupt
        made, wrong = Fuzz(lambda: STUB[way](library), seen, guard, raising).sweep()
    assert wrong == {}
    assert made > 50


@pytest.mark.slow
@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize(("subject", "way"), rows(SUBJECTS))
def test_at_every_place_in_spanhook_under_a_framework(subject: Subject, way: str) -> None:
    guard = Guard()
    thing = subject.make(Body())
    with recorder(guard.hooks) as seen:
        made, wrong = Fuzz(lambda: subject.ways[way](thing), seen, guard).sweep(places=PLACES.get(subject.name, 250))
    assert wrong == {}
    assert made > 90


@pytest.mark.slow
@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize(("subject", "way"), rows(HERE))
def test_at_every_function_of_a_framework(subject: Subject, way: str) -> None:
    guard = Guard()
    thing = subject.make(Body())
    with recorder(guard.hooks) as seen:
        made, wrong = Fuzz(lambda: subject.ways[way](thing), seen, guard).sweep(everywhere=True, places=200)
    assert wrong == {}
    assert made > 90


ANSWERED = [one for one in SUBJECTS if one.name in ("chat", "tool", "async tool", "retriever", "graph")]


@pytest.mark.parametrize(
    "places", [pytest.param(20, id="some places"), pytest.param(400, id="every place", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("subject", "way"), rows(tuple(ANSWERED)))
def test_where_an_answer_is_announced(subject: Subject, way: str, places: int) -> None:
    guard = Guard()
    answer = "instead" if subject.answer is None else subject.answer
    guard.hooks.before(subject.kind, priority=90)(lambda op: op.respond(answer))
    thing = subject.make(Body())
    with recorder(guard.hooks) as seen, listening("plain"):
        made, wrong = Fuzz(lambda: subject.ways[way](thing), seen, guard).sweep(places=places)
    assert wrong == {}
    assert made >= 20
