"""The start of an operation: it is gated also where it cannot be described, and counted as it is covered."""

from collections.abc import Iterator
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, semconv
from spanhook.diagnostics import internal
from tests.stub import MODES, STREAM, WHOLE, stubbed, use


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
        monkeypatch.setitem(vars(adapter), "traits", frozenset(("made_elsewhere",) if elsewhere else ()))
    with stubbed(hooks) as (library, seen):
        use(library, mode, "xyz")
        counted = [attributes for attributes, _ in seen.metrics()[semconv.METRIC_DECISIONS]]
    (span,) = seen.spans
    assert (span.attributes or {})[semconv.COVERAGE] == coverage
    assert {one[semconv.HOOK].rpartition(".")[2]: one[semconv.COVERAGE] for one in counted} == dict.fromkeys(
        ("before", "around", "after", "slow"), coverage
    )
