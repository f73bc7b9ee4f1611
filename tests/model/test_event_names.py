"""Short names of events: each stands for what the table in docs/events.md says."""

import re
from pathlib import Path

from inline_snapshot import snapshot

from spanhook import semconv
from spanhook.model import ALIASES, SUMMARY_KINDS, alias_of

TABLE = re.compile(r"^\| `(\w+:\w+)` \| (.*?) \| (\w+) \|", re.MULTILINE)


def test_the_documented_table_is_the_code() -> None:
    documented = TABLE.findall((Path(__file__).parents[2] / "docs" / "events.md").read_text())
    cancelled = {None: "", True: ", cancelled", False: ", not cancelled"}
    assert documented == [
        (
            name,
            ", ".join(f"`{one.kind}.{phase}`" for phase in one.phases) + cancelled[one.cancelled],
            one.level,
        )
        for name, one in ALIASES.items()
    ]


def test_all_names_of_the_design_are_there() -> None:
    assert list(ALIASES) == snapshot(
        [
            "agent:start",
            "agent:end",
            "agent:error",
            "job:start",
            "job:end",
            "job:cancelled",
            "cron:executed",
            "tool:execute",
            "delegate:start",
            "delegate:end",
            "model:call",
        ]
    )


def test_every_name_is_of_a_kind_there_is() -> None:
    assert {one.kind for one in ALIASES.values()} <= set(semconv.KINDS)
    assert set(SUMMARY_KINDS) <= set(semconv.KINDS)


def test_an_event_has_one_name_at_most() -> None:
    for kind in semconv.KINDS:
        for phase in semconv.PHASES:
            for status in ("", "success", "error", "rejected", "interrupted", "cancelled", "abandoned"):
                named = [name for name, one in ALIASES.items() if one.kind == kind and one.includes(phase, status)]
                assert alias_of(kind, phase, status) == (named[0] if named else "")
                assert len(named) <= 1


def test_what_ends_has_a_name_however_it_ends() -> None:
    for kind in {one.kind for one in ALIASES.values()}:
        for status in ("success", "interrupted", "abandoned"):
            assert alias_of(kind, "post", status)
        for status in ("error", "rejected", "cancelled"):
            assert alias_of(kind, "error", status)
