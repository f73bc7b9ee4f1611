"""What the pages show: runs of two weeks, hooks of two tenants, requests that wait, and text with markup."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from spanhook.jobs import FINAL, Job, JobEvent, JobStatus
from spanhook.jobs.sql_jobs import SQLJobs
from spanhook.schedules import CronState, Fate, Past, Running
from spanhook.store import ApprovalRequest, open_approvals
from spanhook.store.control import Database
from tests.server.serving import Served

DAYS = 14
SECOND, DAY = 10**9, 86_400 * 10**9
MODELS = (("gpt-4o-mini", 0.00002), ("claude-sonnet-4", 0.0009), ("gpt-4.1", 0.0004))
SHADOW_RUN = "shadow-run"
SHOWN_JOB = f"job_{0:032x}"
MARKUP = "<script>alert(1)</script>"
RULES = [{"deny": ["refund"], "reason": "Refunds need a person"}]
HOOKS: list[dict[str, Any]] = [
    {
        "name": "refunds", "event_type": "tool.execute.pre", "priority": 60, "tags": ["money"],
        "handler_ref": "spanhook.hooks.tool_policy:ToolPolicy", "config": {"default": "allow", "rules": RULES},
        "description": "Nobody refunds alone",
    },
    {
        "name": "calls per minute", "event_type": "llm.call.pre", "mode": "shadow", "tenant_id": "acme",
        "handler_ref": "spanhook.hooks.rate_limit:RateLimit", "config": {"limit": "10/minute", "per": ["user"]},
    },
    {
        "name": "loops", "event_type": "tool.execute.pre", "enabled": False, "tenant_id": "globex",
        "handler_ref": "spanhook.hooks.loop_guard._hook:LoopGuard", "config": {"repeats": 5},
    },
]  # fmt: skip


CLOCKED: dict[str, Any] = {
    "agents": {"support": {"target": "asyncio:sleep"}},
    "cron": [
        {"id": "morning-report", "schedule": "0 9 1 1 *", "time_zone": "Europe/Berlin", "agent": "support"},
        {"id": "off", "schedule": "0 0 1 1 *", "agent": "support", "enabled": False},
        {"id": "never-yet", "schedule": "0 0 29 2 *", "agent": "support", "tenant_id": "acme"},
    ],
}
"""Settings with schedules that do not come while the tests run, unless it is New Year."""


def fill_schedules(server: Served) -> None:
    """Ticks of the first schedule: one of each fate, and one under way."""
    fates = get_args(Fate)
    now = datetime.now(UTC)
    past = tuple(
        Past(now - timedelta(days=len(fates) - n), fate, now, f"exec_{n}", SHOWN_JOB if n < 2 else "", "LookupError")
        for n, fate in enumerate(fates)
    )
    running = (Running("exec_9", now, now + timedelta(days=1)),)
    server.keep_schedule("morning-report", CronState("0 9 1 1 * Europe/Berlin", now, running, (now,), past))


def fill(server: Served) -> None:
    """Send all of it."""
    now = time.time_ns()
    send(server, *shadowed(now - 5 * SECOND), *(one for day in range(DAYS) for one in worked(day, now - day * DAY)))
    for hook in HOOKS:
        response = server.client.post("/v1/hooks", json=hook)
        assert response.status_code == 201, response.text
    fill_jobs(server)
    listen(server, "http://127.0.0.1:1999/hooks?a=long&address=with-parameters", description=MARKUP)
    ask(server, "close", tool="close_account", title="Close an account", arguments='{"reason": "<b>asked</b>"}')
    ask(server, "refund", tool="refund", tenant_id="globex", arguments='{"amount": 250.0, "order": 7}')


def fill_jobs(server: Served) -> None:
    """Jobs of each status; one of them has something of everything that can happen."""

    async def made(database: Database) -> None:
        store, now = SQLJobs(database), time.time_ns()
        shown: dict[JobStatus, dict[str, Any]] = {
            "completed": {"result": {"answer": MARKUP, "items": [1, 2, 3]}, "tools": ("refund", "search")},
            "failed": {"error": "no such order", "error_type": "LookupError"},
            "cancelled": {},
            "running": {"lease_ns": now + DAY},
            "queued": {"lease_ns": now + DAY},
        }
        usage = {"input_tokens": 1200, "output_tokens": 340, "total_tokens": 1540, "cost_usd": 0.0123}
        for number, (status, more) in enumerate(shown.items()):
            ends = {"ended_ns": now - 60 * SECOND} if status in FINAL else {}
            times = {"created_ns": now - (120 + number) * SECOND, "started_ns": now - 90 * SECOND, **ends}
            await store.create(
                Job(
                    job_id=f"job_{number:032x}", agent="support", tenant_id="acme", user_id="ann", usage=usage,
                    input={"question": "Where is my order?"}, status=status, attempts=1, **times, **more,
                )
            )  # fmt: skip
        said = [
            ("status", {"status": "running", "attempt": 1}),
            ("text:delta", {"text": "I look it up. "}),
            ("tool:call", {"tool": "search", "agent": "support", "arguments": {"order": MARKUP}}),
            ("tool:result", {"tool": "search", "status": "success", "output": "x" * 300}),
            ("agent:delegate", {"from": "support", "to": "billing"}),
            ("approval:waiting", {"tool": "refund", "title": "Refund it?"}),
            ("usage", {"model": "gpt-4.1", **usage}),
            ("done", {"status": "completed"}),
        ]
        await store.append(SHOWN_JOB, [JobEvent(at, *one, now) for at, one in enumerate(said, 1)])

    server.with_database(made)


def send(server: Served, *spans: dict[str, Any]) -> None:
    """Send spans as an exporter does."""
    sent = server.client.post("/v1/traces", json={"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    assert sent.json() == {}, sent.text


def listen(server: Served, url: str, **fields: Any) -> str:
    """Create a webhook, and send it a test. Returns its path."""
    made = server.client.post("/v1/webhooks", json={"url": url, "events": ["job.*", "webhook.disabled"], **fields})
    assert made.status_code == 201, made.text
    path = f"/webhooks/{made.json()['webhook_id']}"
    assert server.client.post(f"/v1{path}/test", json={}).status_code == 202
    ends = time.monotonic() + 60
    while not server.client.get(f"/v1{path}/deliveries").json()["deliveries"][0]["attempts"]:
        assert time.monotonic() < ends
        time.sleep(0.02)
    return path


def ask(server: Served, id: str, **fields: Any) -> None:
    """Have a call of a tool wait for a person."""
    given: dict[str, Any] = {"policy": "accounts", "tenant_id": "acme", "user_id": "ann", "agent": "desk", **fields}
    open_approvals(server.database_url).ask(ApprovalRequest(id, f"binding of {id}", **given), 3600)


def span(run: str, number: int, start: int, seconds: float, parent: int = 0, **given: Any) -> dict[str, Any]:
    """A span of a run, with attributes whose names have ``__`` for a dot."""
    trace = run.encode().hex().ljust(32, "0")[:32]
    one = {
        "traceId": trace, "spanId": f"{number:x}" * 16, "name": given.pop("name"),
        "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + int(seconds * SECOND)),
        "events": given.pop("events", []),
        "attributes": attributes(spanhook__run__id=run, **{"spanhook__status": "success", **given}),
    }  # fmt: skip
    return {**one, "parentSpanId": f"{parent:x}" * 16} if parent else one


def attributes(**given: Any) -> list[dict[str, Any]]:
    """Attributes as OTLP has them in JSON."""
    kinds = {int: "intValue", float: "doubleValue", str: "stringValue"}
    return [{"key": key.replace("__", "."), "value": {kinds[type(it)]: it}} for key, it in given.items()]


def worked(day: int, start: int) -> list[dict[str, Any]]:
    """A run that ended well, or not."""
    model, price = MODELS[day % 3]
    who: dict[str, Any] = {
        "gen_ai__agent__name": ("desk", "researcher")[day % 2],
        "user__id": ("ann", "bob", "eve")[day % 3],
        "spanhook__tenant__id": ("acme", "globex")[day % 2],
    }
    used = {"gen_ai__usage__input_tokens": 900 + 700 * day, "gen_ai__usage__output_tokens": 90 + 31 * day}
    run, status = f"run-{day}", "error" if day % 7 == 5 else "success"
    about: dict[str, Any] = {"name": f"chat {model}", "spanhook__kind": "llm.call", "gen_ai__request__model": model}
    return [
        span(run, 1, start, 8, name="invoke_agent", spanhook__kind="agent.invoke", spanhook__status=status, **who),
        span(run, 2, start + SECOND, 5.5, 1, **about, **used, spanhook__cost__usd=price * (day + 1), **who),
    ]


def shadowed(start: int) -> list[dict[str, Any]]:
    """A run with messages, and a hook in shadow mode that would have refused a call."""
    who: dict[str, Any] = {"gen_ai__agent__name": MARKUP, "user__id": "<b>mallory</b>", "spanhook__tenant__id": "acme"}
    would = attributes(
        spanhook__hook="refund_limit", spanhook__event="tool.execute.pre", spanhook__decision="reject",
        spanhook__mode="shadow", spanhook__decision__reason="Refunds above $50 need a person <i>really</i>",
    )  # fmt: skip
    event = {"name": "spanhook.decision", "timeUnixNano": str(start + 5), "attributes": would}
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Please refund <b>order 7</b>.\nIt was broken."}]}]
    call = {"type": "tool_call", "name": "refund", "arguments": {"amount": 60}}
    said = [{"role": "assistant", "parts": [call], "finish_reason": "tool_call"}]
    return [
        span(SHADOW_RUN, 1, start, 4, name="invoke_agent", spanhook__kind="agent.invoke", **who),
        span(
            SHADOW_RUN, 2, start + SECOND, 1.5, 1, name="chat m", spanhook__kind="llm.call", gen_ai__request__model="m",
            gen_ai__usage__input_tokens=900, gen_ai__usage__output_tokens=50,
            gen_ai__input__messages=json.dumps(asked), gen_ai__output__messages=json.dumps(said), **who,
        ),
        span(
            SHADOW_RUN, 3, start + 2 * SECOND, 1, 1, name="execute_tool refund", spanhook__kind="tool.execute",
            gen_ai__tool__name="refund", gen_ai__tool__call__arguments='{"amount": 60}', events=[event], **who,
        ),
    ]  # fmt: skip
