"""One operation from start to end: what it is gated by where it cannot be read, and what is held back for its hooks."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from spanhook import Hooks, Operation, Reject, semconv
from spanhook.diagnostics import internal
from spanhook.testing import recorder
from tests.stub import MODES, STREAM, WHOLE, stubbed, use

STREAMS = ("stream", "astream")


@pytest.mark.parametrize("mode", STREAMS)
def test_a_run_that_is_refused_too_late_for_its_stream_still_ends_refused(mode: str) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with stubbed(hooks) as (library, seen), pytest.raises(Reject, match="enough"):
        use(library, mode, "xyz")
    assert seen.operations[0].status == "rejected"


def test_after_a_run_was_refused_too_late_no_later_call_of_it_is_made() -> None:
    hooks = Hooks()
    ran: list[str] = []

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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("elsewhere", "coverage"), [(False, "enforced"), (True, "best_effort")])
def test_decisions_are_counted_under_the_coverage_of_their_operation(
    mode: Any, elsewhere: bool, coverage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Hooks()

    @hooks.before("*")
    def before(_op: Operation) -> None: ...

    @hooks.around("*")
    def around(_op: Operation) -> Iterator[None]:
        yield

    @hooks.after("*")
    def after(_op: Operation) -> None: ...

    @hooks.before("*", name="slow")
    async def abefore(_op: Operation) -> None: ...

    for adapter in (WHOLE, STREAM):
        monkeypatch.setitem(vars(adapter), "made_elsewhere", elsewhere)
    with stubbed(hooks) as (library, seen):
        use(library, mode, "xyz")
        counted = [attributes for attributes, _ in seen.metrics()[semconv.METRIC_DECISIONS]]
    (span,) = seen.spans
    assert (span.attributes or {})[semconv.COVERAGE] == coverage
    assert {one[semconv.HOOK].rpartition(".")[2]: one[semconv.COVERAGE] for one in counted} == dict.fromkeys(
        ("before", "around", "after", "slow"), coverage
    )
