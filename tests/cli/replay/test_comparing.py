"""Then and now: what is the same, what differs, and what a replay cannot tell."""

from pathlib import Path

from spanhook import Hooks, Operation, Reject
from spanhook.cli.replay.comparing import compared
from tests.cli.replay.asking import outcomes
from tests.cli.replay.lines import line, span


def hooks() -> Hooks:
    made = Hooks()

    @made.before("tool.execute", names={"wire", "pay"})
    def gate(_op: Operation) -> None:
        raise Reject("no")

    @made.before("tool.execute", names={"read"})
    def content(op: Operation) -> None:
        if op.request.arguments:
            raise Reject("no")

    @made.before("tool.execute", names={"wire"}, mode="shadow")
    def trial(_op: Operation) -> None:
        raise Reject("no")

    return made


def verdicts(path: Path, *spans: object) -> list[tuple[str, str, list[str], list[str], str]]:
    found = compared(outcomes(hooks(), path, line(*spans)))  # type: ignore[arg-type]
    return [
        (
            one.outcome.name,
            one.hook,
            [said.decision for said in one.then],
            [said.decision for said in one.now],
            one.verdict,
        )
        for one in found
    ]


def test_verdicts(tmp_path: Path) -> None:
    gate, gone, slow = (("gate", "pre", "reject"),), (("gone", "pre", "modify"),), (("gone", "post", "skipped"),)
    assert verdicts(
        tmp_path,
        span(status="rejected", decisions=gate, gen_ai__tool__name="wire"),
        span(gen_ai__tool__name="pay"),
        span(status="rejected", decisions=gate, gen_ai__tool__name="search"),
        span(decisions=gone, gen_ai__tool__name="search"),
        span(decisions=slow, gen_ai__tool__name="search"),
        span(gen_ai__tool__name="read"),
        span(gen_ai__tool__name="search"),
    ) == [
        ("wire", "gate", ["reject"], ["reject"], "same"),
        ("pay", "gate", [], ["reject"], "differs"),
        ("search", "gate", ["reject"], [], "differs"),
        ("search", "gone", ["modify"], [], "differs"),
        ("search", "gone", ["skipped"], [], "unknown"),
        ("read", "content", [], ["unknown"], "unknown"),
    ]


def test_what_would_not_have_happened_is_not_compared(tmp_path: Path) -> None:
    tool = span(gen_ai__tool__name="pay", seconds=5)
    inner = span(at=1, parent=tool["spanId"], decisions=(("gone", "pre", "modify"),), gen_ai__tool__name="inner")
    assert [one[0] for one in verdicts(tmp_path, tool, inner)] == ["pay"]


def test_a_span_whose_events_were_dropped(tmp_path: Path) -> None:
    one = span(status="rejected", decisions=(("gate", "pre", "reject"),), gen_ai__tool__name="wire")
    one["events"] = []
    assert verdicts(tmp_path, one) == [("wire", "gate", ["reject"], ["reject"], "same")]
