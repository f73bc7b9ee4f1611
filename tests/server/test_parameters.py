"""Query parameters that a route does not take; those of every route are in ``test_every_route.py``."""

from collections.abc import Generator
from typing import Any

import pytest

from tests.server.serving import Served, served

SCOPES = ("hooks:admin", "hooks:manage", "runs:read", "usage:read", "jobs:run", "jobs:read", "approvals:decide")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("parameters"), rate="1000000/minute") as one:
        yield one


def mistakes(server: Served, method: str, path: str, query: str, body: Any = None) -> list[dict[str, str]]:
    answer = server.client.request(method, f"{path}?{query}", json=body, headers=server.key("acme", *SCOPES))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text
    return answer.json()["errors"]


def test_a_misspelt_parameter_is_refused_with_the_name_that_was_meant(server: Served) -> None:
    assert mistakes(server, "GET", "/v1/runs", "statsu=error&limit=5") == [
        {"place": "query.statsu", "message": "unknown; did you mean 'status'?"}
    ]


def test_what_would_have_changed_something_else_changes_nothing(server: Served) -> None:
    content = {"content": "policies: []\n"}
    [found] = mistakes(server, "PUT", "/v1/policy", "tennant=other", content)
    assert found["message"] == "unknown; did you mean 'tenant'?"
    history = server.client.get("/v1/policy/history", headers=server.key("acme", *SCOPES))
    assert history.json()["versions"] == []


def test_names_that_are_like_no_other_are_answered_with_those_there_are(server: Served) -> None:
    assert (
        mistakes(server, "GET", "/v1/budgets", "zzz=1")[0]["message"]
        == "unknown; this takes run, session, tenant, user"
    )
    assert mistakes(server, "GET", "/v1/agents", "zzz=1")[0]["message"] == "unknown; this takes no parameters"


def test_a_parameter_with_one_value_may_be_given_once(server: Served) -> None:
    assert mistakes(server, "GET", "/v1/runs", "status=error&status=success") == [
        {"place": "query.status", "message": "given more than once"}
    ]
    headers = server.key("acme", *SCOPES)
    assert server.client.get("/v1/usage?by=day&by=user", headers=headers).status_code == 200
