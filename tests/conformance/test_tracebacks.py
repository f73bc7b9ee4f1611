"""What an application prints of its errors is what it would have printed without us."""

import asyncio
import socket
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import openai
import pytest

import spanhook
from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.testing import recorder
from tests.conformance.everything import HERE as SUBJECTS
from tests.thinning import a_fifth


class Failing(Body):
    """A body that fails, while it handles something else."""

    def run(self, given: Any, tokens: int = 0) -> None:
        try:
            int("no number")
        except ValueError:
            raise LookupError("the body failed")  # noqa: B904


def watching() -> Hooks:
    hooks = Hooks()

    @hooks.around("*", priority=200)
    def around(op: Operation) -> Iterator[Any]:
        yield

    @hooks.around("*", priority=210, timeout=60.0)
    async def wrap(op: Operation, call_next: Any) -> None:
        await call_next()

    hooks.before("*", priority=220)(lambda op: None)
    hooks.on_error("*")(lambda op: None)
    return hooks


def frames(error: BaseException) -> list[tuple[str, str, int | None]]:
    """Where an error came by, from outside to inside, without the test's own lines, and those that depend on time."""
    found = [(one.filename, one.name, one.lineno) for one in traceback.extract_tb(error.__traceback__)]
    return [one for one in found if (one[0] != __file__ or one[1] == "run") and "/concurrent/futures/" not in one[0]]


def raised(use: Callable[..., Any], *args: Any) -> BaseException | None:
    try:
        settle(use(*args))
    except Exception as error:
        return error
    return None


def told(error: BaseException | None) -> Any:
    """The error, what led to it, and where each came by."""
    if error is None:
        return None
    return type(error), str(error), frames(error), told(error.__cause__), told(error.__context__)


def ours(error: BaseException | None) -> list[tuple[str, str, int | None]]:
    """Frames of spanhook in an error and in what led to it."""
    if error is None:
        return []
    mine = [one for one in frames(error) if "/src/spanhook/" in one[0] and "/conformance/" not in one[0]]
    return [*mine, *ours(error.__cause__), *ours(error.__context__)]


@pytest.mark.parametrize("subject", a_fifth(SUBJECTS), ids=lambda subject: subject.name)
def test_an_error_of_the_applications_comes_as_it_came(subject: Subject) -> None:
    for way, use in subject.ways.items():
        thing = subject.make(Failing())
        expected = told(raised(use, thing))
        for hooks in (None, watching()) if subject.name in ("tool", "graph") else (watching(),):
            thing = subject.make(Failing())
            with recorder(hooks) as seen:
                assert told(raised(use, thing)) == expected, way
            assert seen.operations, way


@pytest.mark.parametrize("subject", a_fifth(SUBJECTS), ids=lambda subject: subject.name)
@pytest.mark.parametrize("scope", ["operation", pytest.param("run", marks=pytest.mark.slow)])
def test_a_rejection_does_not_show_how_it_came_about(subject: Subject, scope: Any) -> None:
    hooks = Hooks()

    @hooks.before("*")
    def deny(op: Operation) -> None:
        raise Reject("no", scope=scope)

    for way, use in subject.ways.items():
        thing = subject.make(Body())
        with recorder(hooks) as seen:
            error = raised(use, thing)
        assert ours(error) == [], way
        assert seen.operations[0].status == "rejected", way
        if isinstance(error, Reject):
            assert error.__context__ is None, way


def test_an_error_of_an_sdk_behind_a_framework_comes_as_it_came() -> None:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        model = ChatOpenAI(model="m", api_key=SecretStr("x"), base_url=url, max_retries=0)
        client = openai.OpenAI(api_key="x", base_url=url, max_retries=0)
        messages: Any = [{"role": "user", "content": "hi"}]
        uses: list[Callable[[], Any]] = [
            lambda: model.invoke("hi"),
            lambda: model.ainvoke("hi"),
            lambda: list(model.stream("hi")),
            lambda: client.chat.completions.create(model="m", messages=messages),
            lambda: client.chat.completions.create(model="m", messages=messages, stream=True),
        ]
        for use in uses:
            expected = told(raised(use))
            assert expected is not None
            with recorder(watching()):
                assert told(raised(use)) == expected


def test_frames_stay_for_who_asks() -> None:
    subject = SUBJECTS[0]
    way = next(iter(subject.ways.values()))
    with recorder(watching(), settings=Settings(full_tracebacks=True)):
        assert ours(raised(lambda: way(subject.make(Failing()))))
    with recorder(watching()):
        assert not ours(raised(lambda: way(subject.make(Failing()))))


@dataclass(frozen=True)
class Frozen(Exception):
    """Its attributes cannot be assigned, and Python's own are attributes too."""

    code: int = 7


def test_an_error_that_cannot_be_changed_passes_as_it_is() -> None:
    @spanhook.tool("fails")
    def fails() -> None:
        raise Frozen

    @spanhook.tool("fails")
    async def afails() -> None:
        raise Frozen

    @spanhook.tool("fails")
    def streams() -> Iterator[int]:
        yield 1
        raise Frozen

    def block() -> None:
        with spanhook.operation("tool.execute", "fails"):
            raise Frozen

    with recorder(watching()):
        for use in (fails, lambda: asyncio.run(afails()), lambda: list(streams()), block):
            with pytest.raises(Frozen):
                use()
