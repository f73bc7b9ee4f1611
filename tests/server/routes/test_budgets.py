from pathlib import Path
from typing import Any

import pytest

from spanhook.hooks.budget import Budget
from spanhook.model import Identity
from spanhook.store import Amounts, open_book
from tests.server.serving import Served, served

POLICY = "policies: [{use: budget, id: daily, with: {per: user, window: day, tokens: 1000}}]"
DEFINITION: dict[str, Any] = {
    "name": "all",
    "event_type": "llm.call",
    "handler_ref": f"{Budget.__module__}:Budget",
    "config": {"per": "all", "usd": 5.0},
}


def spend(store: str, name: str, identity: Identity, used: int, owner: str = "", **config: Any) -> None:
    """What an agent's process counts."""
    budget = Budget(store=store, **config)
    budget.name, budget.tenant_id = name, owner
    account, period = budget._account(identity, "enforce")
    open_book(store).ledger.settle(account, "a-call", Amounts(used), period.ends)


def budgets(server: Served, caller: str, **params: str) -> dict[str, Any]:
    response = server.client.get("/v1/budgets", params=params, headers=server.key(caller, "usage:read"))
    assert response.status_code == 200, response.text
    return {one["id"]: one for one in response.json()["budgets"]}


def test_budgets_show_what_is_used_of_them(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'counters.db'}"
    with served(tmp_path, api_keys=True, stores={"counters": store}) as server:
        admin = server.key("acme", "hooks:admin")
        assert server.client.put("/v1/policy", json={"content": POLICY}, headers=admin).status_code == 200
        made = server.client.post("/v1/hooks", json=DEFINITION, headers=server.key("", "hooks:admin"))
        assert made.status_code == 201, made.text
        ada = Identity(tenant_id="acme", user_id="ada")
        spend(store, "daily", ada, 400, owner="acme", per="user", window="day", tokens=1000)

        (daily,) = budgets(server, "acme", user="ada").values()
        assert (daily["per"], daily["window"], daily["tokens"], daily["usd"]) == ("user", "day", 1000, None)
        assert (daily["source"], daily["tenant_id"], daily["enabled"]) == ("policy", "acme", True)
        assert (daily["used"]["tokens"], daily["unknown"]) == (400, "")
        assert daily["used"]["ends"]
        assert budgets(server, "acme", user="bob")["daily"]["used"]["tokens"] == 0
        assert budgets(server, "acme")["daily"]["unknown"] == "name the user"
        assert budgets(server, "acme", user="ada", tenant="globex")["daily"]["used"]["tokens"] == 400

        every = budgets(server, "", user="ada", tenant="acme")
        assert every["daily"]["used"]["tokens"] == 400
        assert every[made.json()["hook_id"]]["used"]["usd"] == 0
        assert budgets(server, "globex", user="ada", tenant="acme") == {}


@pytest.mark.parametrize("store", ["memory://", "redis://elsewhere.example", "nowhere"])
def test_a_store_that_the_server_was_not_told_of_is_not_asked(tmp_path: Path, store: str) -> None:
    with served(tmp_path, api_keys=True) as server:
        config = {"per": "all", "tokens": 5, **({"store": store} if "://" in store else {})}
        given = {**DEFINITION, "config": config}
        made = server.client.post("/v1/hooks", json=given, headers=server.key("", "hooks:admin"))
        if made.status_code != 201:  # the handler is made once, to check it
            pytest.fail(made.text)
        (found,) = budgets(server, "").values()
        assert (found["used"], found["unknown"]) == (None, "the server does not know its store; see the setting stores")


def test_budgets_of_the_same_name_are_each_tenants_own(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'counters.db'}"
    with served(tmp_path, api_keys=True, stores={"counters": store}) as server:
        for tenant in ("acme", "globex"):
            content = POLICY.replace("per: user", "per: all")
            admin = server.key(tenant, "hooks:admin")
            assert server.client.put("/v1/policy", json={"content": content}, headers=admin).status_code == 200
        spend(store, "daily", Identity(tenant_id="globex"), 400, owner="globex", per="all", window="day", tokens=1000)
        assert budgets(server, "acme")["daily"]["used"]["tokens"] == 0
        assert budgets(server, "globex")["daily"]["used"]["tokens"] == 400
