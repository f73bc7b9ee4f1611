"""Every operation has one record, with every decision about it; a log that is required refuses when it cannot write."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation
from spanhook.diagnostics import internal
from spanhook.gating import make
from spanhook.hooks.audit_log import AuditLog
from spanhook.store import verify
from spanhook.testing import recorder


def entries(directory: Path, kind: str = "operation") -> list[dict[str, Any]]:
    found = [json.loads(line) for file in sorted(directory.iterdir()) for line in file.read_text().splitlines()]
    return [one for one in found if one["kind"] == kind]


def test_every_end_has_one_record(tmp_path: Path) -> None:
    hooks = Hooks(AuditLog(str(tmp_path)))

    @hooks.before("tool.execute", names={"refused"})
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    @hooks.before("tool.execute", names={"answered"})
    def answer(op: Operation) -> None:
        op.respond("instead")

    @spanhook.tool
    def answered() -> str:
        raise AssertionError("the body ran")

    @spanhook.tool
    def stream() -> Any:
        yield "a"
        yield "b"

    @spanhook.tool
    async def waits() -> None:
        await asyncio.Event().wait()

    async def cancelled() -> None:
        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with recorder(hooks, sampler=ALWAYS_OFF):
        with operation("tool.execute", "fine"):
            pass
        with pytest.raises(Reject), operation("tool.execute", "refused"):
            pass
        with pytest.raises(ZeroDivisionError), operation("tool.execute", "broken"):
            _ = 1 / 0
        assert answered() == "instead"
        left = stream()
        next(left)
        left.close()
        asyncio.run(cancelled())

    found = [(one["name"], one["status"], [each["decision"] for each in one["decisions"]]) for one in entries(tmp_path)]
    assert found == [
        ("fine", "success", []),
        ("refused", "rejected", ["reject"]),
        ("broken", "error", []),
        ("answered", "success", ["replace"]),
        ("stream", "abandoned", []),
        ("waits", "cancelled", []),
    ]
    assert entries(tmp_path)[1]["decisions"][0]["status_code"] == 402


def test_decisions_after_all_others_are_recorded(tmp_path: Path) -> None:
    hooks = Hooks(AuditLog(str(tmp_path)))

    @hooks.after("tool.execute", priority=1000, fail_mode="closed")
    def withhold(op: Operation) -> None:
        raise Reject("withheld")

    @hooks.before("tool.execute", mode="shadow", name="trial")
    def trial(op: Operation) -> None:
        raise Reject("would refuse")

    with recorder(hooks), pytest.raises(Reject), operation("tool.execute", "x"):
        pass
    (record,) = entries(tmp_path)
    assert [(one["hook"], one["decision"]) for one in record["decisions"]] == [("withhold", "reject")]
    (shadow,) = entries(tmp_path, "shadow_decision")
    assert [(one["hook"], one["mode"]) for one in shadow["decisions"]] == [("trial", "shadow")]


def test_operations_of_a_run_that_was_stopped_are_recorded(tmp_path: Path) -> None:
    hooks = Hooks(AuditLog(str(tmp_path)))

    @hooks.before("tool.execute", names={"first"})
    def stop(op: Operation) -> None:
        raise Reject("stop", scope="run")

    ran: list[str] = []
    with recorder(hooks), pytest.raises(Reject), operation("agent.invoke", "desk"):
        for name in ("first", "second"):
            with suppress(BaseException), operation("tool.execute", name):
                ran.append(name)
    assert ran == []
    assert [(one["name"], one["status"]) for one in entries(tmp_path)] == [
        ("first", "rejected"),
        ("second", "rejected"),
        ("desk", "rejected"),
    ]


def test_content_is_kept_only_if_asked_for(tmp_path: Path) -> None:
    for content in ("none", "arguments"):
        log = make(AuditLog, {"path": str(tmp_path / content), "content": content})
        with recorder(log), operation("tool.execute", "x", request={"arguments": {"card": "4111 1111"}}):
            pass
    (bare,), (kept,) = entries(tmp_path / "none"), entries(tmp_path / "arguments")
    assert "4111 1111" not in json.dumps(bare)  # digits alone are in hashes, too
    assert kept["request"] == '{"card":"4111 1111"}'
    assert bare["request_digest"] == kept["request_digest"]


def test_a_required_log_that_cannot_be_written_refuses(tmp_path: Path) -> None:
    blocked = tmp_path / "log"
    blocked.write_text("")
    with recorder(AuditLog(str(blocked), required=True)) as seen:
        internal.fatal = False  # it is one of the log's own errors
        with pytest.raises(Reject, match="cannot be written") as caught, operation("tool.execute", "x"):
            raise AssertionError("it ran")
        blocked.unlink()
        with operation("tool.execute", "y"):
            pass
    assert caught.value.status_code == 503
    assert [one["name"] for one in entries(blocked)] == ["x", "y"]
    assert {name for name in seen.metrics() if "audit" in name} == {"spanhook.audit.records", "spanhook.audit.failures"}


def test_the_head_is_in_telemetry(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path), to=["file", "otlp"], head_every=2)
    with recorder(log) as seen:
        for _ in range(3):
            with operation("tool.execute", "x"):
                pass
        log.close()
    heads = [one["attributes"] for one in seen.events if one["name"] == "spanhook.audit.head"]
    assert [one["spanhook.audit.sequence"] for one in heads] == [1, 3, 4]
    assert len([one for one in seen.events if one["name"] == "spanhook.audit.record"]) == 5
    (report,) = verify(sorted(tmp_path.iterdir()), None, [one["spanhook.audit.hash"] for one in heads])
    assert (report.problem, report.closed) == ("", True)


def test_the_key_is_read_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"AUDIT_KEY.*expected at least 16"):
        AuditLog(str(tmp_path), key_env="AUDIT_KEY")
    monkeypatch.setenv("AUDIT_KEY", "0123456789abcdef")
    with recorder(AuditLog(str(tmp_path), key_env="AUDIT_KEY")), operation("tool.execute", "x"):
        pass
    assert verify(sorted(tmp_path.iterdir()))[0].problem
    assert not verify(sorted(tmp_path.iterdir()), b"0123456789abcdef")[0].problem


def test_filters_hold(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path))
    log.names = ["seen"]
    with recorder(log):
        for name in ("seen", "other"):
            with operation("tool.execute", name):
                pass
    assert [one["name"] for one in entries(tmp_path)] == ["seen"]


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigurationError, match="max_bytes=1"):
        make(AuditLog, {"max_bytes": 1})
