from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.control_plane.processes import until
from tests.server.loading import send
from tests.server.serving import Served, served


def test_the_server_says_how_it_is(tmp_path: Path) -> None:
    with served(tmp_path, api_keys=True) as server:
        assert server.client.get("/healthz").json() == {"status": "ok"}
        assert server.client.get("/readyz").json() == {"status": "ok"}


def test_metrics_name_routes_and_neither_paths_nor_callers(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        for path in ("/healthz", "/v1/secret-tenant", "/readyz"):
            server.client.get(path)
        response = server.client.get("/metrics")
        assert response.headers["content-type"].startswith("text/plain")
        found = {
            tuple(sample.labels.values()): sample.value
            for family in text_string_to_metric_families(response.text)
            for sample in family.samples
            if sample.name == "spanhook_server_requests_total"
        }
        assert found == {("GET", "/healthz", "200"): 1, ("GET", "/readyz", "200"): 1, ("GET", "none", "404"): 1}
        assert "secret-tenant" not in response.text


def measured(server: Served) -> dict[str, float]:
    text = server.client.get("/metrics").text
    return {
        sample.name.removeprefix("spanhook_server_")
        + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_tell_what_became_of_telemetry(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert send(server.client, "run-1").status_code == 200
        found = measured(server)
        assert found["ingested_records_total traces"] == 1
        assert (found["ingested_records_total logs"], found["ingest_waiting"]) == (0, 0)
        assert found["ingest_failures_total refused"] == 0
        assert len(server.client.get("/v1/runs").json()["runs"]) == 1


def test_what_is_older_than_the_settings_say_goes_and_that_is_told(tmp_path: Path) -> None:
    with served(tmp_path, retention={"days": 1e-9, "interval": 0.05}) as server:
        assert send(server.client, "run-1").status_code == 200
        until(lambda: server.client.get("/v1/runs").json()["runs"] == [])
        until(lambda: measured(server).get("retention_deleted_rows_total runs") == 1)
        found = measured(server)
        assert found["retention_deleted_rows_total spans"] == 1
        assert found["retention_failures_total"] == 0
        assert found["stored_bytes"] > 0


def test_what_takes_too_much_goes_and_what_is_managed_stays(tmp_path: Path) -> None:
    with served(tmp_path, retention={"size_mb": 1, "interval": 0.05}) as server:
        assert server.client.put("/v1/policy", json={"content": "settings: {}"}).status_code == 200
        for number in range(80):
            assert send(server.client, f"run-{number}", name="x" * 50_000).status_code == 200
        until(lambda: measured(server).get("retention_deleted_rows_total spans", 0) > 0)
        until(lambda: measured(server)["stored_bytes"] <= 1_000_000)
        assert server.client.get("/v1/policy").json()["version"] == 1
