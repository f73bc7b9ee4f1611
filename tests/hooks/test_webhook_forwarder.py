"""Events of agents reach a real receiver that checks signatures, whatever it answers and whoever dies."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation
from spanhook.gating import make
from spanhook.hooks.webhook_forwarder import WebhookForwarder
from spanhook.settings import Settings
from spanhook.store import SQLiteOutbox
from spanhook.telemetry import Concealer, use_concealers
from spanhook.testing import recorder
from spanhook.webhooks import body_of, new_secret
from tests.forking import children
from tests.webhooks.receiver import Receiver, receiving

SECRET = new_secret()
HERE: dict[str, Any] = {"allowed_networks": ["127.0.0.1/32"], "plain_http": True}


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)


def forwarder(receiver: Receiver, folder: Path, *events: str, **settings: Any) -> WebhookForwarder:
    given: dict[str, Any] = {"events": list(events), "outbox": str(folder / "webhooks.db"), **HERE, **settings}
    return WebhookForwarder(receiver.url, "HOOK_SECRET", **given)


def test_events_as_they_are_chosen(tmp_path: Path) -> None:
    with receiving(secret=SECRET) as receiver:
        hook = forwarder(receiver, tmp_path, "agent.invoke", "tool.execute.error", "tool:execute", ordered=True)
        hooks = Hooks(hook)

        @hooks.before("tool.execute", names={"refused"})
        def refuse(op: Operation) -> None:
            raise Reject("no")

        with recorder(hooks), spanhook.context(tenant_id="acme"), operation("agent.invoke", "shop"):
            with operation("llm.call", "m"):
                pass
            with operation("tool.execute", "fine"):
                pass
            with pytest.raises(Reject), operation("tool.execute", "refused"):
                pass
        assert hook.flush(30)
    assert [(one["type"], one["data"]["agent_name"], one["data"].get("status")) for one in receiver.events] == [
        ("spanhook.agent.invoke.pre", "shop", None),
        ("spanhook.tool.execute.post", "shop", "success"),
        ("spanhook.tool.execute.error", "shop", "rejected"),
        ("spanhook.agent.invoke.post", "shop", "success"),
    ]
    assert {one["tenantid"] for one in receiver.events} == {"acme"}
    assert {one["source"] for one in receiver.events} == {"spanhook"}
    assert len({one["subject"] for one in receiver.events}) == 1
    assert not any({"input", "output", "error"} & one["data"].keys() for one in receiver.events)


def test_deliveries_belong_to_the_trace_of_the_operation(tmp_path: Path) -> None:
    with receiving(*[500] * 20, secret=SECRET) as receiver:
        hook = forwarder(receiver, tmp_path, "agent:end")
        with recorder(Hooks(hook)) as seen:
            with operation("agent.invoke", "desk"):
                pass
            assert not hook.flush(0)
        (span,) = seen.spans
        now = time.time_ns() + 10**12
        (due,) = SQLiteOutbox(str(tmp_path / "webhooks.db"), receiver.url, [SECRET]).claim(now, now, 1)
    assert span.context is not None
    assert due.traceparent == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01"


def test_content_is_sent_if_telemetry_has_it(tmp_path: Path) -> None:
    @spanhook.tool
    def greet(name: str) -> str:
        return f"Hello {name}"

    with receiving(secret=SECRET) as receiver:
        hook = forwarder(receiver, tmp_path, "tool.execute.post")
        with recorder(Hooks(hook), settings=Settings(content="SPAN_ONLY")):
            greet("Ada")
            assert hook.flush(30)
        with recorder(Hooks(hook)):
            greet("Bea")
            assert hook.flush(30)
    first, second = (one["data"] for one in receiver.events)
    assert (first["input"], first["output"]) == ({"name": "Ada"}, "Hello Ada")
    assert "Bea" not in str(second)


def test_content_that_is_too_large_is_left_out_before_it_is_concealed() -> None:
    seen = list[str]()

    def conceal(text: str) -> str:
        seen.append(text)
        return text

    data = {"job_id": "1", "output": ["x" * 1000] * 300, "error": "y" * 300_000}
    try:
        with recorder(Hooks(), settings=Settings(content="SPAN_ONLY")):
            use_concealers((Concealer(conceal),))
            body = body_of("", data, json.dumps)
            whole = body_of("", {"output": ["x"]}, json.dumps)
    finally:
        use_concealers(())
    assert json.loads(body) == {"job_id": "1", "content_left_out": True}
    assert (json.loads(whole), seen) == ({"output": ["x"]}, ["x"])


@pytest.mark.slow
def test_failures_are_tried_again(tmp_path: Path) -> None:
    with receiving((503, {"Retry-After": "0"}), secret=SECRET) as receiver:
        hook = forwarder(receiver, tmp_path, "agent:end")
        with recorder(Hooks(hook)), operation("agent.invoke", "shop"):
            pass
        assert hook.flush(60)
        assert len(receiver.requests) == 2
        assert len(receiver.events) == 1
        assert len({request["webhook-id"] for request in receiver.requests}) == 1


PROGRAM = """
import os, signal, sys, time
from spanhook import Hooks, operation
from spanhook.hooks.webhook_forwarder import WebhookForwarder
from spanhook.testing import recorder

hook = WebhookForwarder(sys.argv[1], "HOOK_SECRET", outbox=sys.argv[2], allowed_networks=["127.0.0.1/32"],
                        plain_http=True, events=["agent:end"])
with recorder(Hooks(hook)):
    for number in range(20):
        with operation("agent.invoke", f"agent {number}"):
            pass
    if sys.argv[3] == "kill":
        while hook._forwarder._waiting:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.one_value
@pytest.mark.parametrize("how", ["kill", "end"])
def test_what_was_committed_outlives_its_process(tmp_path: Path, how: str) -> None:
    with receiving(secret=SECRET) as receiver:
        closed = receiver.url.replace("/hook", "/later")
        done = children.run("-c", PROGRAM, closed, tmp_path / "webhooks.db", how)
        assert done.returncode == (-9 if how == "kill" else 0), done.stderr
        box = SQLiteOutbox(str(tmp_path / "webhooks.db"), closed, [SECRET])
        left = {due.event_id for due in box.claim(time.time_ns() + 10**12, time.time_ns() + 2 * 10**12, 100)}
        box.close()
        assert len(left | {one["id"] for one in receiver.events}) == 20
        assert done.stderr == ""


def test_a_forked_child_sends_its_own_events(tmp_path: Path) -> None:
    with receiving(secret=SECRET) as receiver:
        hook = forwarder(receiver, tmp_path, "agent:end")
        with recorder(Hooks(hook)):
            with operation("agent.invoke", "parent"):
                pass
            child = os.fork()
            if not child:
                try:
                    with operation("agent.invoke", "child"):
                        pass
                    os._exit(0 if hook.flush(30) else 1)
                finally:
                    os._exit(2)
            assert os.waitpid(child, 0)[1] == 0
            assert hook.flush(30)
        assert sorted(one["data"]["agent_name"] for one in receiver.events) == ["child", "parent"]


def test_settings_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for settings, said in (
        ({"url": "http://hooks.example/"}, "https"),
        ({"url": "https://127.0.0.1/"}, "not public"),
        ({"url": "https://hooks.example/", "events": ["agent:ended"]}, "unknown event"),
        ({"url": "https://hooks.example/", "events": []}, "events"),
        ({"url": "https://hooks.example/", "allowed_networks": ["10.1.2.3/8"]}, "not a network"),
        ({"url": "https://hooks.example/", "secret_env": "NO_SECRET"}, "not set"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            make(WebhookForwarder, {"secret_env": "HOOK_SECRET", **settings})
    monkeypatch.setenv("HOOK_SECRET", "hunter2")
    with pytest.raises(ConfigurationError) as caught:
        WebhookForwarder("https://hooks.example/", "HOOK_SECRET")
    assert "hunter2" not in str(caught.value)
