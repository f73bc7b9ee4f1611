import json
import time
from collections.abc import Generator
from typing import Any

import pytest

from tests.server.browsing import Browser
from tests.server.routes.test_runs import attributes
from tests.server.serving import Served, served

MARKUP = "<img src=x onerror=alert(1)>\"'&"
SHADOW = {"spanhook.mode": "shadow", "spanhook.decision": "reject"}


def value(given: Any) -> dict[str, Any]:
    return {"key": given[0], "value": {"stringValue": given[1]}}


def send(server: Served, tenant: str, *spans: dict[str, Any]) -> None:
    headers = server.key(tenant, "telemetry:write")
    body = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": MARKUP}, "spans": list(spans)}]}]}
    assert server.client.post("/v1/traces", json=body, headers=headers).json() == {}


def marked_up(number: int = 1) -> list[dict[str, Any]]:
    """A run with markup in every field that is a text."""
    trace, now = f"{number:032x}", time.time_ns() - 10**9
    times = {"startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 5 * 10**8)}
    names = ("user.id", "gen_ai.agent.name", "gen_ai.conversation.id", "error.type", "spanhook.status", MARKUP)
    shared = {"spanhook.run.id": f"{MARKUP}{number}", **dict.fromkeys(names, MARKUP)}
    decision = {"spanhook.hook": MARKUP, "spanhook.event": MARKUP, "spanhook.decision": MARKUP,
                "spanhook.decision.reason": MARKUP}  # fmt: skip
    messages = json.dumps([{"role": MARKUP, "parts": [{"type": "text", "content": MARKUP}]}])
    events = [
        {
            "name": "spanhook.decision",
            "timeUnixNano": str(now + at),
            "attributes": [*map(value, {**decision, **mode}.items())],
        }
        for at, mode in enumerate(({}, SHADOW))
    ]
    agent = [*map(value, {**shared, "spanhook.kind": "agent.invoke"}.items())]
    model = {**shared, "spanhook.kind": "llm.call", "gen_ai.request.model": MARKUP, "gen_ai.input.messages": messages,
             "gen_ai.output.messages": MARKUP, "gen_ai.tool.call.arguments": MARKUP}  # fmt: skip
    used = attributes(gen_ai__usage__input_tokens=20, gen_ai__usage__output_tokens=3)
    status = {"code": 2, "message": MARKUP}
    return [
        {"traceId": trace, "spanId": "0" * 15 + "1", "name": MARKUP, **times, "attributes": agent, "status": status},
        {"traceId": trace, "spanId": "0" * 15 + "2", "parentSpanId": "0" * 15 + "1", "name": MARKUP, **times,
         "attributes": [*map(value, model.items()), *used], "events": events, "status": status},
    ]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("runs"), api_keys=True) as one:
        for number in range(1, 61):
            send(one, "acme", *marked_up(number))
        yield one


def browser(server: Served, tenant: str) -> Browser:
    return Browser(server, **server.key(tenant, "runs:read", "usage:read"))


@pytest.mark.parametrize("tenant", ["acme", ""])
def test_markup_in_telemetry_is_text(server: Served, tenant: str) -> None:
    reader = browser(server, tenant)
    for path in ("/runs", "/decisions", "/usage"):
        assert "<img src=x" in reader.open(path)
        assert "<img src=x" not in reader.page.text
    run = server.client.get("/v1/runs", headers=server.key("acme", "runs:read")).json()["runs"][0]["id"]
    shown = reader.open(f"/runs/{run.replace('/', '%2F').replace('?', '%3F').replace('&', '%26')}")
    assert reader.page.status_code == 200
    assert "<img src=x" not in reader.page.text
    assert shown.count(MARKUP) > 10


def test_pages_follow_each_other(server: Served) -> None:
    reader = browser(server, "acme")
    reader.open("/runs?user=" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%22%27%26")
    assert reader.page.text.count('class="rowlink"') == 50
    assert 'data-live="/events/runs"' in reader.page.text
    older = reader.page.text.split('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "user=%3Cimg" in older
    assert "Latest" in reader.open(older)
    assert reader.page.text.count('class="rowlink"') == 10
    assert "data-live" not in reader.page.text


def test_filters_are_those_of_the_api(server: Served) -> None:
    reader = browser(server, "acme")
    assert "No run is like that" in reader.open("/runs", agent="other")
    assert "No run is like that" in reader.open("/runs", until="2020-01-01T00:00")
    assert "1 decision" not in reader.open("/runs", hook="nobody")
    assert "2 decisions" in reader.open("/runs", since="2020-01-01T00:00", hook=MARKUP)


def test_what_shadow_hooks_would_have_done_is_shown(server: Served) -> None:
    reader = browser(server, "acme")
    reader.open("/decisions?mode=shadow&run=")
    assert "would reject" in reader.text
    assert "No decision is like that" in reader.open("/decisions?mode=enforce&decision=reject")


def test_tenants_see_their_own(server: Served) -> None:
    reader = browser(server, "globex")
    for path in ("/runs", "/decisions", "/usage"):
        assert "img src" not in reader.open(path)
    run = server.client.get("/v1/runs", headers=server.key("acme", "runs:read")).json()["runs"][0]["id"]
    reader.client.get(f"/runs/{run}")
    assert "there is no run" in reader.open(f"/runs/{run.replace('/', '%2F').replace('?', '%3F').replace('&', '%26')}")
    assert "Tenant" not in reader.open("/usage")
