from pathlib import Path

from tests.server.serving import bearer, served


def test_a_caller_may_not_ask_too_often_and_is_told_when(tmp_path: Path) -> None:
    with served(tmp_path, rate="3/hour", api_keys=True) as server:
        one, two = server.key("", "usage:read"), server.key("", "usage:read")
        assert [server.client.get("/metrics", headers=one).status_code for _ in range(4)] == [200, 200, 200, 429]
        response = server.client.get("/metrics", headers=one)
        assert response.json()["code"] == "rate_limited"
        assert int(response.headers["retry-after"]) > 0
        assert server.client.get("/metrics", headers=two).status_code == 200
        assert server.client.get("/healthz").status_code == 200


def test_guessing_ends_soon_and_does_not_lock_out_who_only_forgot(tmp_path: Path) -> None:
    with served(tmp_path, failures="3/hour", api_keys=True) as server:
        assert [server.client.get("/metrics").status_code for _ in range(5)] == [401] * 5
        guesses = [server.client.get("/metrics", headers=bearer(str(one))).status_code for one in range(5)]
        assert guesses == [401, 401, 401, 429, 429]
        assert server.client.get("/metrics", headers=server.key("", "usage:read")).status_code == 200
