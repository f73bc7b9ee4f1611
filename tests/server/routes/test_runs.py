import json
from collections.abc import Generator
from typing import Any

import pytest

from tests.server.serving import SECRET, TOKENS, Served, bearer, served, token

START = 1_700_000_000_000_000_000
DAY = "2023-11-14"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("runs"), tokens=TOKENS) as one:
            for tenant, count in (("acme", 3), ("globex", 1)):
                send(one, tenant, [part for number in range(count) for part in run(tenant, number)])
            yield one


def attributes(**given: Any) -> list[dict[str, Any]]:
    return [
        {"key": key.replace("__", "."), "value": {"intValue": str(it)} if isinstance(it, int) else {"stringValue": it}}
        for key, it in given.items()
    ]


def run(tenant: str, number: int) -> list[dict[str, Any]]:
    trace = f"{abs(hash(tenant)) % 2**60:016x}{number + 1:016x}"
    shared = {"spanhook__run__id": f"{tenant}-{number}", "user__id": "ada", "spanhook__status": "success"}
    refused = {"spanhook__hook": "refunds", "spanhook__event": "tool.execute.pre", "spanhook__decision": "reject"}
    times = {"startTimeUnixNano": str(START + number), "endTimeUnixNano": str(START + number + 10**9)}
    agent = attributes(spanhook__kind="agent.invoke", gen_ai__agent__name="desk", **shared)
    model = attributes(
        spanhook__kind="llm.call", gen_ai__request__model="m-1", gen_ai__usage__input_tokens=20,
        gen_ai__usage__output_tokens=3, gen_ai__agent__name="desk", **shared,
    )  # fmt: skip
    event = {"name": "spanhook.decision", "timeUnixNano": str(START + 5), "attributes": attributes(**refused)}
    return [
        {"traceId": trace, "spanId": "00" * 7 + "01", "name": "desk", **times, "attributes": agent, "events": [event]},
        {
            "traceId": trace,
            "spanId": "00" * 7 + "02",
            "parentSpanId": "00" * 7 + "01",
            "name": "m",
            **times,
            "attributes": model,
        },
    ]


def send(server: Served, tenant: str, spans: list[dict[str, Any]]) -> None:
    headers = {"Content-Type": "application/json", **bearer(token(tenant, ["telemetry:write"]))}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    assert server.client.post("/v1/traces", content=body, headers=headers).json() == {}


def get(server: Served, path: str, whose: str = "acme", **params: Any) -> Any:
    headers = bearer(token(whose, ["runs:read", "usage:read"]))
    return server.client.get(f"/v1/{path}", params=params, headers=headers).json()


def test_runs_are_listed_filtered_and_paged(server: Served) -> None:
    def ids(**params: Any) -> list[str]:
        return [one["id"] for one in get(server, "runs", **params)["runs"]]

    assert ids() == ["acme-2", "acme-1", "acme-0"]
    assert ids(agent="desk", user="ada", status="success", model="m-1") == ids()
    assert ids(agent="other") == ids(tenant="globex") == ids(model="other") == []
    assert ids(since="2023-11-14T22:13:20Z") == ids()
    assert ids(until="2023-11-14T22:13:20Z") == []
    first = get(server, "runs", limit=2)
    assert [one["id"] for one in first["runs"]] == ["acme-2", "acme-1"]
    assert ids(cursor=first["next_cursor"]) == ["acme-0"]
    assert get(server, "runs", cursor="é")["code"] == "invalid"


def test_a_run_has_its_trace(server: Served) -> None:
    found = get(server, "runs/acme-1")
    assert [one["name"] for one in found["spans"]] == ["desk", "m"]
    assert found["run"]["trace_id"]
    assert (found["run"]["input_tokens"], found["run"]["by_model"]["m-1"]["output_tokens"]) == (20, 3)
    assert get(server, "runs/globex-0")["code"] == "not_found"


def test_decisions_are_listed(server: Served) -> None:
    found = get(server, "decisions")["decisions"]
    assert {(one["hook"], one["decision"], one["tenant_id"]) for one in found} == {("refunds", "reject", "acme")}
    assert len(get(server, "decisions", run="acme-0")["decisions"]) == 1
    assert get(server, "decisions", hook="other")["decisions"] == []
    first = get(server, "decisions", limit=1)
    assert len(first["decisions"]) == 1
    assert first["next_cursor"]


def test_usage_is_grouped(server: Served) -> None:
    (total,) = get(server, "usage")["usage"]
    assert (total["calls"], total["input_tokens"], total["output_tokens"], total["model"]) == (3, 60, 9, None)
    (by_model,) = get(server, "usage", by=["day", "model"])["usage"]
    assert (by_model["day"], by_model["model"], by_model["input_tokens"]) == (DAY, "m-1", 60)
    assert get(server, "usage", since=DAY, until=DAY, by="agent")["usage"][0]["agent"] == "desk"
    assert get(server, "usage", until="2023-11-13", by="agent")["usage"] == []
    everyone = get(server, "usage", "the operators", by="tenant")["usage"]
    assert {one["tenant"]: one["input_tokens"] for one in everyone} == {"acme": 60, "globex": 20}
    assert {one["tenant"] for one in get(server, "usage", by="tenant")["usage"]} == {"acme"}


@pytest.mark.parametrize("given", ["0.5", "0", "1700000000", "yesterday", "2023-11-14x"])
def test_a_time_is_written_as_one(server: Served, given: str) -> None:
    for path in ("runs", "decisions", "usage"):
        assert get(server, path, since=given)["code"] == "invalid"


def test_days_and_times_far_away_are_only_empty(server: Served) -> None:
    for path, params in (
        ("runs", {"since": "9999-12-31T23:59:59Z"}),
        ("runs", {"until": "0001-01-01T00:00:00Z"}),
        ("decisions", {"since": "0001-01-01T00:00:00+14:00"}),
        ("usage", {"since": "9999-12-31", "until": "0001-01-01"}),
    ):
        assert "code" not in get(server, path, **params), path
