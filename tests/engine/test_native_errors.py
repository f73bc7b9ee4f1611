"""A rejection out of a provider's SDK is the exception that the hook raised and the SDK's own for the status."""

import asyncio
import copy
import gc
import pickle
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import anthropic
import groq
import openai
import pytest
from langchain_core.language_models import FakeListChatModel
from openai import AsyncOpenAI, OpenAI

from spanhook import Hook, Hooks, Operation, Reject, operation
from spanhook.cli.conformance.libraries import anthropic_ways, groq_ways, openai_ways
from spanhook.cli.conformance.libraries.stainless_ways import Way, named
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.groq_server import GroqServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.diagnostics import internal
from spanhook.engine._native_errors import joined
from spanhook.instrument.instrumentor import Bindings
from spanhook.model import Adapter, Editing, Point
from spanhook.settings import Settings
from spanhook.testing import recorder
from tests.thinning import a_fifth

STATUSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
    500: "InternalServerError",
    504: "InternalServerError",
    451: "APIStatusError",
}


class Unpaid(Reject):
    """A refusal of the application's own."""

    def __init__(self, invoice: str) -> None:
        super().__init__(f"invoice {invoice} is unpaid", status_code=402)
        self.invoice = invoice


class OutOfHours(Reject, PermissionError):
    """One that is also a built-in exception with another layout."""


class Slotted(Reject):
    """One whose attribute stands in a slot."""

    __slots__ = ("until",)
    until: str


@dataclass
class Sdk:
    """An SDK, its ways of calling, and a server."""

    package: Any
    ways: list[Way]
    server: type[OpenAIServer]

    def error(self, name: str) -> Any:
        return getattr(self.package, name)


SDKS = {
    "openai": Sdk(openai, openai_ways.WAYS, OpenAIServer),
    "anthropic": Sdk(anthropic, anthropic_ways.WAYS, AnthropicServer),
    "groq": Sdk(groq, groq_ways.WAYS, GroqServer),
}
WAYS = [
    pytest.param(name, way, id=f"{name}-{named(way)}")
    for name, sdk in SDKS.items()
    for way in sdk.ways
    if (name, way.name) != ("anthropic", "messages raw parse")  # it has none
]


def refusing(refusal: Reject | Callable[[], Reject]) -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call", "embeddings.create")
    def refuse(op: Operation) -> None:
        raise refusal if isinstance(refusal, Reject) else refusal()

    return hooks


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def client(server: OpenAIServer) -> Iterator[OpenAI]:
    with openai_ways.sync_client(server.url) as made:
        yield made


def refused(client: OpenAI, refusal: Reject | Callable[[], Reject]) -> Any:
    with recorder(refusing(refusal)), pytest.raises(Reject) as caught:
        client.chat.completions.create(**openai_ways.CHAT)
    return caught.value


# ------------------------------------------------------------------------------------------------- what is raised


@pytest.mark.parametrize(("name", "way"), a_fifth(WAYS))
def test_every_way_of_calling_raises_both_and_retries_nothing(name: str, way: Way) -> None:
    sdk, status = SDKS[name], 0
    with sdk.server() as server, recorder(refusing(lambda: Reject("no more", status_code=status))) as seen:
        for status in (403, 429, 500):
            with pytest.raises(Reject, match="no more") as caught:
                way(server.url, max_retries=5)
            error: Any = caught.value
            assert isinstance(error, sdk.error(STATUSES[status]))
            assert (error.status_code, error.response.status_code, error.message) == (status, status, "no more")
            assert server.requests == []
    assert len(seen.operations) == 3


@pytest.mark.parametrize("name", SDKS)
@pytest.mark.parametrize("status", STATUSES)
def test_the_status_decides_which_exception_it_is(name: str, status: int) -> None:
    sdk, way = SDKS[name], SDKS[name].ways[0]
    with sdk.server() as server, recorder(refusing(Reject("no", status_code=status))):
        with pytest.raises(sdk.error(STATUSES[status])) as caught:
            way(server.url)
        error: Any = caught.value
    assert isinstance(error, sdk.error("APIStatusError"))
    assert (error.reason, error.scope, str(error)) == ("no", "operation", "no")


def test_it_has_what_an_error_of_openai_has(client: OpenAI) -> None:
    error = refused(client, Reject("no", status_code=429))
    told = {"message": "no", "type": "invalid_request_error", "param": None, "code": "rejected"}
    assert (error.body, error.code, error.type, error.param) == (told, "rejected", "invalid_request_error", None)
    assert error.response.json() == {"error": told}
    assert (error.request.method, error.request.url.path) == ("POST", "/v1/chat/completions")
    assert error.request_id is None


def test_it_has_what_an_error_of_anthropic_has() -> None:
    way = SDKS["anthropic"].ways[0]
    hooks = refusing(Reject("no", status_code=403))
    with AnthropicServer() as server, recorder(hooks), pytest.raises(anthropic.PermissionDeniedError) as caught:
        way(server.url)
    told = {"type": "error", "error": {"type": "permission_error", "message": "no"}}
    assert caught.value.body == caught.value.response.json() == told
    assert caught.value.request.url.path.endswith("/v1/messages")


def test_handlers_of_an_application_that_knows_nothing_of_hooks(client: OpenAI) -> None:
    def ask() -> str:
        try:
            client.chat.completions.create(**openai_ways.CHAT)
        except openai.RateLimitError as error:
            return f"later: {error.message}"
        except openai.APIStatusError as error:
            return f"status {error.status_code}"
        return "answered"

    with recorder(refusing(Reject("too many", status_code=429))):
        assert ask() == "later: too many"
    with recorder(refusing(Reject("pay first", status_code=402))):
        assert ask() == "status 402"


# ------------------------------------------------------------------------------------------------- what it keeps


def test_it_is_the_class_that_the_hook_raised(client: OpenAI) -> None:
    error = refused(client, lambda: Unpaid("7"))
    assert isinstance(error, Unpaid)
    assert isinstance(error, openai.APIStatusError)
    assert (error.invoice, error.status_code, error.reason) == ("7", 402, "invoice 7 is unpaid")
    assert (str(error), repr(error)) == ("invoice 7 is unpaid", "Unpaid('invoice 7 is unpaid')")
    assert (type(error).__module__, type(error).__qualname__) == (Unpaid.__module__, "Unpaid")


def test_classes_with_slots_and_with_built_in_bases(client: OpenAI) -> None:
    slotted = Slotted("closed")
    slotted.until = "nine"
    error = refused(client, slotted)
    assert error.until == "nine"
    assert isinstance(error, openai.PermissionDeniedError)
    odd = refused(client, lambda: OutOfHours("closed"))
    assert isinstance(odd, OutOfHours)
    assert isinstance(odd, openai.PermissionDeniedError)


def test_its_own_attributes_come_first(client: OpenAI) -> None:
    class Coded(Reject):
        code = "class"

        def __init__(self) -> None:
            super().__init__("no")
            self.body = "mine"

    error = refused(client, Coded)
    assert (error.body, error.message) == ("mine", "no")


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_copies_are_both_too(again: Callable[[Any], Any], client: OpenAI) -> None:
    error = refused(client, lambda: Unpaid("7"))
    error.add_note("seen")
    twin = again(error)
    assert type(twin) is type(error)
    assert (twin.invoice, twin.status_code, str(twin)) == ("7", 402, str(error))
    assert (twin.body, twin.response.status_code, twin.__notes__) == (error.body, 402, ["seen"])


def test_causes_and_notes_are_those_of_the_rejection(client: OpenAI) -> None:
    def made() -> Reject:
        refusal = Reject("no")
        refusal.add_note("ask Ann")
        refusal.__cause__ = KeyError("why")
        return refusal

    error = refused(client, made)
    assert (error.__notes__, repr(error.__cause__), error.__suppress_context__) == (
        ["ask Ann"],
        "KeyError('why')",
        True,
    )


def test_it_can_be_raised_from_another_and_grouped(client: OpenAI) -> None:
    error = refused(client, lambda: Unpaid("7"))
    with pytest.raises(Unpaid) as caught:
        raise error from KeyError("why")
    assert isinstance(caught.value.__cause__, KeyError)
    found: list[tuple[BaseException, ...]] = []
    try:
        raise ExceptionGroup("several", [error, ValueError("x")])
    except* openai.APIStatusError as group:
        found.append(group.exceptions)
    except* ValueError:
        pass
    assert found == [(error,)]


def test_the_class_is_made_once_and_freed_with_the_applications(client: OpenAI) -> None:
    first, second = (refused(client, Reject("no", status_code=403)) for _ in range(2))
    assert type(first) is type(second)
    other = refused(client, Reject("no", status_code=429))
    assert type(other) is not type(first)

    def once() -> "weakref.ref[type]":
        class Brief(Reject):
            pass

        return weakref.ref(type(refused(client, Brief)))

    brief = once()
    gc.collect()
    assert brief() is None


def test_one_refusal_raised_again_and_again(client: OpenAI) -> None:
    refusal = Reject("no")
    errors = [refused(client, refusal) for _ in range(3)]
    assert len(set(map(id, errors))) == 3
    assert type(refusal) is Reject
    assert refusal.__traceback__ is None


def test_a_refusal_out_of_another_sdk_is_still_one_of_its_class(client: OpenAI) -> None:
    """A hook of an enclosing operation may raise what it was given again."""
    error = refused(client, lambda: Unpaid("7"))
    found = joined(error, anthropic.APIStatusError("x", response=error.response, body=None))
    assert isinstance(found, Unpaid)
    assert isinstance(found, anthropic.APIStatusError)
    assert joined(error, openai.APIStatusError("x", response=error.response, body=None)) is error


def test_classes_that_cannot_be_combined(client: OpenAI) -> None:
    class Picky(Reject):
        def __init_subclass__(cls, *, needed: int) -> None:
            raise AssertionError

    error = refused(client, Picky)
    assert type(error) is Picky


# ------------------------------------------------------------------------------------------------- where


class Late(Hook):
    """Refuses in the middle of a stream."""

    kinds: ClassVar[Any] = ("llm.call",)
    stream = "window"
    window = 4
    fail_mode = "closed"
    timeout = 60.0

    def text(self, op: Operation, text: str) -> str:
        if "hello" in text:
            raise Reject("not that", status_code=422)
        return text

    def after(self, op: Operation) -> None:
        raise Reject("not that", status_code=422)


STREAMED = [param for param in WAYS if param.values[1].streamed]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(("name", "way"), a_fifth(STREAMED))
def test_in_the_middle_of_a_stream(name: str, way: Way) -> None:
    sdk = SDKS[name]
    with sdk.server(Reply(way.text)) as server, recorder(Hooks(Late())):
        with pytest.raises(sdk.error("UnprocessableEntityError"), match="not that") as caught:
            way(server.url, max_retries=5)
        assert len(server.requests) == 1
    assert isinstance(caught.value, Reject)


def test_after_the_call_and_for_gates_that_fail(client: OpenAI) -> None:
    after, failing = Hooks(), Hooks()

    @after.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=403)

    @failing.before("llm.call")
    def fail(op: Operation) -> None:
        raise ValueError("broken")

    with recorder(after), pytest.raises(openai.PermissionDeniedError):
        client.chat.completions.create(**openai_ways.CHAT)
    with recorder(failing), pytest.raises(openai.InternalServerError, match="failed: ValueError") as caught:
        client.chat.completions.create(**openai_ways.CHAT)
    assert isinstance(caught.value, Reject)


def test_a_refused_run_raises_the_plain_rejection_at_its_outermost_operation(client: OpenAI) -> None:
    hooks = refusing(Reject("stop", status_code=429, scope="run"))
    with recorder(hooks):
        with pytest.raises(openai.RateLimitError) as direct:
            client.chat.completions.create(**openai_ways.CHAT)
        with pytest.raises(Reject) as around, operation("agent.invoke", "desk"):
            client.chat.completions.create(**openai_ways.CHAT)
    assert isinstance(direct.value, Reject)
    assert (type(around.value), around.value.scope) == (Reject, "run")


def test_what_goes_on_after_its_run_was_refused(client: OpenAI) -> None:
    """Work that was started inside of it, and left behind."""
    hooks = Hooks()
    hooks.before("agent.invoke")(_stop)

    async def main(url: str) -> list[BaseException | None]:
        found: list[BaseException | None] = []
        async with AsyncOpenAI(base_url=url, api_key="test", max_retries=5) as later:
            gate = asyncio.Event()

            async def behind() -> None:
                await gate.wait()
                try:
                    await later.chat.completions.create(**openai_ways.CHAT)
                except Exception as error:
                    found.append(error)

            left: list[asyncio.Task[None]] = []
            with pytest.raises(Reject), operation("iteration", "outer"):
                left.append(asyncio.create_task(behind()))
                with operation("agent.invoke", "inner"):
                    pass
            gate.set()
            await left[0]
        return found

    with recorder(hooks):
        [error] = run(main(str(client.base_url)))
    assert isinstance(error, Reject)
    assert isinstance(error, openai.RateLimitError)


def _stop(op: Operation) -> None:
    raise Reject("stop", status_code=429, scope="run")


def test_inside_an_operation_of_the_applications_own_code(client: OpenAI) -> None:
    """It may handle it there; if it does not, the operation ends as rejected."""
    with recorder(refusing(Reject("no", status_code=403))) as seen:
        with operation("agent.invoke", "desk"), pytest.raises(openai.PermissionDeniedError):
            client.chat.completions.create(**openai_ways.CHAT)
        with pytest.raises(openai.PermissionDeniedError), operation("agent.invoke", "desk"):
            client.chat.completions.create(**openai_ways.CHAT)
    assert [op.status for op in seen.operations] == ["rejected", "success", "rejected", "rejected"]


def test_inside_a_model_of_langchain_it_is_plain(client: OpenAI) -> None:
    """LangChain's own packages turn the client's errors into theirs, which are no rejections."""

    class Rephrasing(FakeListChatModel):
        def _call(self, *args: Any, **kwargs: Any) -> str:
            return str(client.chat.completions.create(**openai_ways.CHAT))

    hooks = Hooks()

    @hooks.before("llm.call", models={"gpt-4o-mini"})
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=403)

    with recorder(hooks) as seen, pytest.raises(Reject) as caught:
        Rephrasing(responses=["x"]).invoke("hi")
    assert type(caught.value) is Reject
    assert [op.status for op in seen.operations] == ["rejected", "rejected"]


def test_telemetry_says_what_it_said(client: OpenAI) -> None:
    with (
        recorder(refusing(lambda: Unpaid("7")), settings=Settings(content="SPAN_ONLY")) as seen,
        pytest.raises(Unpaid),
        operation("agent.invoke", "desk"),
    ):
        client.chat.completions.create(**openai_ways.CHAT)
    assert len(seen.spans) == 2
    for span in seen.spans:
        assert (span.attributes or {})["error.type"] == "spanhook.Reject"
        assert span.status.description == "invoice 7 is unpaid"
        assert not [event for event in span.events if event.name == "exception"]


def test_an_error_in_making_it_leaves_the_rejection(client: OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ValueError("broken")

    monkeypatch.setattr(type(client), "_make_status_error", broken)
    with recorder(refusing(Reject("no"))), pytest.raises(Reject) as caught:
        internal.fatal = False
        client.chat.completions.create(**openai_ways.CHAT)
    internal.renew()
    assert type(caught.value) is Reject


def test_a_client_that_makes_no_errors(client: OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(OpenAI, "_make_status_error")
    assert type(refused(client, Reject("no"))) is Reject


class Turned(Exception):
    """What a framework makes of every exception."""


class Turning:
    """A framework that makes an exception of its own of each that happens inside."""

    def work(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except Exception as error:
            raise Turned("something went wrong") from error

    def words(self, ask: Callable[[], Any]) -> Iterator[Any]:
        yield self.work(ask)


def _turned_from(error: BaseException) -> Reject | None:
    return error.__cause__ if isinstance(error, Turned) and isinstance(error.__cause__, Reject) else None


TURNING = Adapter(
    kind="agent.invoke",
    layer="turning",
    start=lambda *_call: {},
    editing=Editing(refusal=_turned_from),
)


@pytest.mark.parametrize("use", [lambda made, ask: made.work(ask), lambda made, ask: list(made.words(ask))])
def test_a_rejection_that_a_framework_makes_an_exception_of_is_raised_as_both(use: Any) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Unpaid("7")

    def ask() -> None:
        with operation("tool.execute", "pay"):
            raise AssertionError

    def fail() -> None:
        raise ValueError

    points = (("work", "sync"), ("words", "stream"))
    adapter = f"{__name__}:TURNING"
    bindings = Bindings(
        [Point(module=__name__, name=f"Turning.{name}", adapter=adapter, mode=mode) for name, mode in points]
    )
    with recorder(hooks, only=()) as seen:
        bindings.bind()
        try:
            with pytest.raises(Turned) as raised:
                use(Turning(), ask)
            with pytest.raises(Turned) as failed:
                use(Turning(), fail)
        finally:
            bindings.restore()
    assert isinstance(raised.value, Unpaid)
    assert (raised.value.invoice, raised.value.status_code) == ("7", 402)
    assert type(failed.value) is Turned
    statuses = [(op.kind, op.status) for op in seen.operations]
    assert set(statuses) == {("tool.execute", "rejected"), ("agent.invoke", "rejected"), ("agent.invoke", "error")}
