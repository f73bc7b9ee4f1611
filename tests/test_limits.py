"""What hooks cannot do, and what cannot be done to them."""

from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from opentelemetry.sdk.trace import TracerProvider

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.errors import internal
from spanhook.testing import is_gated, recorder
from tests.stub import MODES, WHOLE, stubbed, use

STREAMS = ("stream", "astream")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def ran() -> list[str]:
    return []


def test_a_subscription_changes_nothing(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()

    def rewrite(op: Operation) -> None:
        op.replace(inputs="rewritten")

    def answer(op: Operation) -> None:
        op.respond("answered")

    async def async_answer(op: Operation) -> None:
        op.respond("answered")

    hooks.on("llm.call.pre", rewrite)
    for phase in ("pre", "post", "error"):
        hooks.on(f"llm.call.{phase}", answer)
        hooks.on(f"llm.call.{phase}", async_answer)
    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "x"
        with pytest.raises(KeyError):
            use(library, mode, KeyError("x"))
        assert library.calls[0] == "x"
        assert hooks.flush()
        assert not any(op.decisions for op in seen.operations)
    assert caplog.text.count("only watches") == 7 * 2  # for each handler a line, and its traceback


def test_a_failed_call_stays_failed_for_error_hooks(mode: str) -> None:
    hooks = Hooks()
    hooks.on_error("llm.call")(lambda op: op.respond("fallback"))
    with stubbed(hooks) as (library, seen), pytest.raises(KeyError):
        use(library, mode, KeyError("x"))
    [op] = seen.operations
    assert op.status == "error"
    assert "around hook" in op.decisions[0].reason


def test_a_field_that_a_call_has_not_got_is_an_error_of_the_hook(mode: str) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.replace(system="be kind", inputs="rewritten"))
    with stubbed(hooks) as (library, seen), pytest.raises(Reject, match="HookError") as caught:
        use(library, mode, "x")
    assert caught.value.status_code == 500
    assert library.calls == []
    assert not seen.operations[0]._record.modified
    assert "system=; llm.call of stub takes inputs=" in str(caught.value.__cause__)


@pytest.mark.parametrize("field", ["messages", "system", "model"])
def test_a_tool_takes_no_messages(field: str) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(**{field: "x"}))

    @tool
    def search(query: str) -> str:
        """Search."""
        raise AssertionError("must not run")

    with recorder(hooks), pytest.raises(Reject, match="HookError"):
        search.invoke({"query": "x"})


@pytest.mark.parametrize("mode", STREAMS)
def test_a_run_that_is_refused_too_late_for_its_stream_still_ends_refused(mode: str) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with stubbed(hooks) as (library, seen), pytest.raises(Reject, match="enough"):
        use(library, mode, "xyz")
    assert seen.operations[0].status == "rejected"


def test_after_a_run_was_refused_too_late_no_later_call_of_it_is_made(ran: list[str]) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    @tool
    def search(query: str) -> str:
        """Search."""
        ran.append(query)
        return query

    @tool
    def outer(query: str) -> str:
        """Stream a model, then call a tool."""
        model = GenericFakeChatModel(messages=iter([AIMessage("a b c")]))
        ran.extend(str(chunk.content) for chunk in model.stream(query))
        return search.invoke({"query": query})

    with recorder(hooks), pytest.raises(Reject, match="enough"):
        outer.invoke({"query": "x"})
    assert "x" not in ran
    assert "".join(ran) == "a b c"


@pytest.mark.parametrize(("fail_mode", "made"), [("closed", False), ("open", True)])
def test_a_gate_is_asked_where_its_filter_cannot_be(
    fail_mode: Any, made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", models={"secret"}, fail_mode=fail_mode)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    def broken(*_: Any) -> Any:
        raise ValueError("no such field")

    with stubbed(hooks) as (library, _):
        assert library.work("x") == "x"
        monkeypatch.setattr(internal, "fatal", False)
        monkeypatch.setitem(vars(WHOLE), "start", broken)
        if made:
            assert library.work("y") == "y"
        else:
            with pytest.raises(Reject, match="no"):
                library.work("y")
    assert ("y" in library.calls) is made


@pytest.mark.parametrize("mode", STREAMS)
def test_streams_are_held_back_only_for_hooks_that_they_concern(mode: str) -> None:
    hooks = Hooks()
    hooks.after("llm.call", models={"another"}, priority=10)(lambda op: None)
    with stubbed(hooks) as (library, seen):
        use(library, mode, "xyz")
    assert not seen.operations[0]._record.buffered
    hooks.after("llm.call", models={"stub"}, priority=10)(lambda op: None)
    with stubbed(hooks) as (library, seen):
        use(library, mode, "xyz")
    assert seen.operations[0]._record.buffered


def test_instrumented_again_the_providers_given_stay() -> None:
    mine = TracerProvider(shutdown_on_exit=False)
    try:
        spanhook.instrument(tracer_provider=mine, only=())
        spanhook.instrument(Hooks(), only=())
        from spanhook.telemetry import telemetry

        assert telemetry.opener.tracer.resource is mine.resource
    finally:
        spanhook.uninstrument()


def test_what_a_tool_returned_is_the_text_of_its_response() -> None:
    hooks = Hooks()
    said: list[str] = []
    hooks.after("tool.execute")(lambda op: said.append(op.response.text))

    @tool
    def search(query: str) -> str:
        """Search."""
        return f"about {query}"

    with recorder(hooks):
        search.invoke({"query": "x"})
    assert said == ["about x"]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("returned", "status_code"), [(Reject("no", status_code=402), 402), (False, 500), ("x", 500)])
def test_what_a_gate_returns_does_not_let_pass(returned: Any, status_code: int, asynchronous: bool, mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def gate(op: Operation) -> Any:
        async def later() -> Any:
            return returned

        return later() if asynchronous else returned

    with stubbed(hooks) as (library, _), pytest.raises(Reject) as caught:
        use(library, mode, "x")
    assert caught.value.status_code == status_code
    assert library.calls == []


def test_a_misspelt_setting_of_a_class_is_named() -> None:
    class Wide(spanhook.Hook):
        kind = "tool.execute"

        def before(self, op: Operation) -> None:
            raise Reject("no")

    with pytest.raises(spanhook.ConfigurationError, match="'kind' is no setting of a hook; did you mean 'kinds'"):
        Hooks(Wide())


def test_an_event_given_for_a_kind_is_named() -> None:
    with pytest.raises(spanhook.ConfigurationError, match=r"an event; write 'tool.execute'"):
        Hooks().before("tool.execute.pre")(lambda op: None)


@pytest.mark.parametrize("mode", ["ENFORCE", "dry", ""])
def test_a_mode_that_is_none(mode: Any) -> None:
    with pytest.raises(spanhook.ConfigurationError, match="expected one of enforce, off"):
        spanhook.Settings(mode=mode)


@pytest.mark.parametrize("name", ["user", "tenant", "session", "thread_id"])
def test_an_identity_by_another_name(name: str) -> None:
    with pytest.raises(TypeError, match="unknown; write"), spanhook.context(**{name: "x"}):  # pyright: ignore[reportArgumentType]
        pass


def test_a_status_code_is_a_number() -> None:
    with pytest.raises(ValueError, match="HTTP status"):
        Reject("no", status_code="402")  # pyright: ignore[reportArgumentType]


def test_instrument_takes_one_name_for_a_list_and_says_what_it_does_not_take() -> None:
    with pytest.raises(spanhook.ConfigurationError, match="unknown library 'langgrph'"):
        spanhook.instrument(require="langgrph")
    with pytest.raises(spanhook.ConfigurationError, match="import it"):
        spanhook.instrument("hooks:hooks")  # pyright: ignore[reportArgumentType]
    with pytest.raises(spanhook.ConfigurationError, match=r"pass spanhook.Settings"):
        spanhook.instrument(settings={"steps": True})  # pyright: ignore[reportArgumentType]


def test_a_coroutine_can_be_probed() -> None:
    @tool
    async def search(query: str) -> str:
        """Search."""
        raise AssertionError("must not run")

    assert is_gated("tool.execute", lambda: search.ainvoke({"query": "x"}))
