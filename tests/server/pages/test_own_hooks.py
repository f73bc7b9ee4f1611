from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spanhook.server.pages.own_hooks import OwnHook, own_hooks
from spanhook.server.routes.sync_models import ActiveHook, Process
from tests.server.pages.test_hooks import browser
from tests.server.routes.test_sync import REPORT
from tests.server.serving import served

NOW = datetime(2026, 1, 31, tzinfo=UTC)


def process(service: str, pid: int, *hooks: ActiveHook, host: str = "box") -> Process:
    rest: dict[str, Any] = {"tenant_id": "", "spanhook_version": "", "set_version": 1, "digest": "", "problems": []}
    return Process(service=service, host=host, pid=pid, hooks=list(hooks), first_seen=NOW, last_seen=NOW, **rest)


def test_hooks_that_are_alike_stand_once_in_the_order_in_which_they_run() -> None:
    late, early = ActiveHook(name="late"), ActiveHook(name="early", kinds=["llm.call"], priority=5, mode="shadow")
    found = own_hooks([process("b", 1, early), process("a", 2, late, early), process("a", 3, early, host="")])
    assert found == [
        OwnHook("early", ("llm.call",), 5, "shadow", "a", "", ("box:2", "unknown host:3")),
        OwnHook("late", (), 100, "enforce", "a", "", ("box:2",)),
        OwnHook("early", ("llm.call",), 5, "shadow", "b", "", ("box:1",)),
    ]
    assert own_hooks([]) == []


def test_the_page_shows_them_beside_definitions_to_their_tenant(tmp_path: Path) -> None:
    with served(tmp_path, api_keys=True) as server:
        own = browser(server, "hooks:read")
        assert "No process has followed this server" in own.text
        assert server.client.post(
            "/v1/sync/reports", json={**REPORT, "hooks": []}, headers=server.key("acme", "hooks:sync")
        ).is_success
        assert "1 process follows this server" in own.open("/hooks")
        hooks = [{"name": "<b>mine", "kinds": ["llm.call"], "priority": 5, "mode": "shadow"}]
        given = {**REPORT, "hooks": hooks}
        for tenant in ("acme", "globex"):
            assert server.client.post(
                "/v1/sync/reports", json={**given, "service": tenant}, headers=server.key(tenant, "hooks:sync")
            ).is_success
        text = own.open("/hooks")
        assert "<b>mine llm.call shadow 5 acme box:7" in text
        assert "<b>mine" not in own.page.text
        assert "reports: hook_1 : its handler is missing" in text
        assert "globex" not in text
