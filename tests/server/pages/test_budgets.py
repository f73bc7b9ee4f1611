from pathlib import Path
from typing import Any

import pytest

from spanhook.model import Identity
from spanhook.server.pages.budgets import Limit
from tests.server.browsing import Browser
from tests.server.routes.test_budgets import DEFINITION, POLICY, spend
from tests.server.serving import Served, served

MARKUP = "<img src=x onerror=alert(1)>\"'&"


def browser(server: Served, tenant: str, *scopes: str) -> Browser:
    key = server.key(tenant, *scopes)["Authorization"].removeprefix("Bearer ")
    made = Browser(server)
    made.open("/login")
    made.send("/login", key=key, to="/budgets")
    return made


def test_budgets_are_shown_with_what_is_used(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'counters.db'}"
    with served(tmp_path, api_keys=True, stores={"counters": store}) as server:
        assert "No budgets yet" in browser(server, "acme", "usage:read").text
        acme, all_of_them = server.key("acme", "hooks:admin"), server.key("", "hooks:admin")
        assert server.client.put("/v1/policy", json={"content": POLICY}, headers=acme).status_code == 200
        given: dict[str, Any] = {**DEFINITION, "name": MARKUP, "mode": "shadow"}
        made = server.client.post("/v1/hooks", json=given, headers=all_of_them)
        assert made.status_code == 201, made.text
        ada = Identity(tenant_id="acme", user_id="ada")
        spend(store, "daily", ada, 900, owner="acme", per="user", window="day", tokens=1000)

        own = browser(server, "acme", "usage:read")
        assert "Fill in the user above" in own.text
        text = own.open("/budgets", user="ada")
        assert "900 of 1,000 tokens" in text
        assert "each user a day" in text
        assert 'class="meter warn"' in own.page.text
        assert 'aria-label="90% used"' in own.page.text
        assert MARKUP not in text  # that of all tenants
        everything = browser(server, "", "usage:read", "hooks:read")
        assert MARKUP in everything.text
        assert "<img src=x" not in everything.page.text
        assert f'href="/hooks/{made.json()["hook_id"]}"' in everything.page.text
        assert "No budgets yet" in browser(server, "globex", "usage:read").open("/budgets", tenant="acme", user="ada")


@pytest.mark.parametrize(
    ("most", "used", "part", "tone"),
    [(10, None, 0, ""), (10, 5, 0.5, ""), (10, 8, 0.8, "warn"), (10, 12, 1, "bad"), (0, 0, 1, "bad"), (10, -1, 0, "")],
)
def test_what_is_nearly_used_up_stands_out(most: float, used: float | None, part: float, tone: str) -> None:
    limit = Limit("usd", most, used, 0)
    assert (limit.part, limit.tone) == (part, tone)
