"""Reading OTLP JSON lines: what is there, and what is wrong with it."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from spanhook.cli.replay.otlp import Read, read_files
from tests.cli.replay.lines import line, span


def read(path: Path, *lines: str) -> Read:
    file = path / "spans.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    return read_files([str(file)], lambda _read: None)


def test_values(tmp_path: Path) -> None:
    one = span(text="a", number=3, part=0.5, on=True, several=["a", "b"])
    one["attributes"] += [
        {"key": "nothing", "value": {}},
        {"key": "inside", "value": {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": 1}}]}}},
        {"key": "endless", "value": {"doubleValue": "Infinity"}},
        {"key": "none", "value": {"arrayValue": {}}},
    ]
    [found] = read(tmp_path, line(one, service="desk")).spans
    assert dict(found.attributes) == {
        "spanhook.kind": "tool.execute",
        "spanhook.status": "success",
        "text": "a",
        "number": 3,
        "part": 0.5,
        "on": True,
        "several": ("a", "b"),
        "nothing": None,
        "inside": {"a": 1},
        "endless": float("inf"),
        "none": (),
    }
    assert (found.scope, found.is_remote, found.parent_id) == ("spanhook", False, "")


def test_other_signals_are_skipped_and_a_span_counts_once(tmp_path: Path) -> None:
    twice = line(span())
    found = read(tmp_path, '{"resourceLogs": []}', twice, "", '{"resourceMetrics": []}', twice, '{"resourceSpans": []}')
    assert (found.lines, found.skipped, len(found.spans), found.broken) == (5, 2, 1, [])


def of(**fields: Any) -> str:
    one = span()
    one.update(fields)
    return line({name: value for name, value in one.items() if value is not None})


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("{", "it is not JSON: "),
        (line(span())[:-9], "it is not JSON: "),
        ("[]", "it is not OTLP: a line is an object, not list"),
        ("{}", "it has no resourceSpans, so it is not what the collector's file exporter writes"),
        (json.dumps({"resource_spans": []}), "it has no resourceSpans"),
        (of(traceId="AAAA"), "it is not OTLP: traceId 'aaaa' is not an id of 32 hex digits"),
        (of(spanId="0" * 16), "it is not OTLP: spanId '0000000000000000' is not"),
        (of(startTimeUnixNano=None), "a span has no 'startTimeUnixNano'"),
        (of(startTimeUnixNano="soon"), "it is not OTLP: "),
        (
            of(attributes=[{"key": "a", "value": {"colourValue": "red"}}]),
            "it is not OTLP: a value has the unknown type",
        ),
        (of(attributes="a"), "it is not OTLP: "),
        ('{"resourceSpans": [3]}', "it is not OTLP: "),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_read(broken: str, reason: str, tmp_path: Path) -> None:
    found = read(tmp_path, line(span()), broken, line(span()))
    assert len(found.spans) == 2
    [said] = found.broken
    assert said.startswith(f"{tmp_path / 'spans.jsonl'}:2: {reason}")


def test_compressed_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "spans.jsonl.gz"
    packed.write_bytes(gzip.compress(line(span()).encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line(span()).encode())))
    found = read_files([str(packed), "-"], lambda _read: None)
    assert (len(found.spans), found.broken) == (2, [])


def test_a_damaged_file(tmp_path: Path) -> None:
    packed = tmp_path / "spans.jsonl.gz"
    packed.write_bytes(gzip.compress(line(*(span() for _ in range(50))).encode())[:-40])
    [said] = read_files([str(packed)], lambda _read: None).broken
    assert said.startswith(f"{packed}:1: the compressed file is damaged here")
