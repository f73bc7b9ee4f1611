from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.server.serving import served


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
