from collections.abc import Generator

import pytest

from tests.server.browsing import Browser
from tests.server.pages.test_hooks import SYSTEM, browser
from tests.server.routes.test_hooks import POLICY, recorded
from tests.server.serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("dry"), api_keys=True) as one:
        yield one


@pytest.fixture(scope="module")
def path(server: Served) -> str:
    made = server.client.post("/v1/hooks", json=POLICY, headers=server.key("acme", "hooks:manage"))
    return f"/hooks/{made.json()['hook_id']}"


@pytest.fixture
def manager(server: Served) -> Browser:
    return browser(server, "hooks:manage", "runs:read")


def test_a_hook_is_tried_on_a_sample(manager: Browser, path: str) -> None:
    manager.open(path)
    assert f'href="{path}/test"' in manager.page.text
    assert "No run has been recorded yet" in manager.open(f"{path}/test")
    text = manager.send(f"{path}/test", sample='{"name": "refund", "arguments": {"note": "<b>7</b>"}}')
    assert "reject ask first" in text
    assert '"note": "<b>7</b>"' in text
    assert "<b>7</b>" not in manager.page.text
    assert "allow" in manager.send(f"{path}/test", sample='{"name": "search"}')


@pytest.mark.parametrize(
    ("sample", "said"),
    [("{", "no JSON"), ("[]", "a JSON object"), ("[" * 9000, "no JSON"), ('{"unknown": 1}', "'unknown'")],
)
def test_a_mistake_leaves_what_was_written(manager: Browser, path: str, sample: str, said: str) -> None:
    manager.open(f"{path}/test")
    assert said in manager.send(f"{path}/test", sample=sample)
    assert manager.page.status_code == 422
    assert sample in manager.text


def test_a_hook_is_tried_on_a_recorded_operation(server: Served, manager: Browser, path: str) -> None:
    recorded(server, "acme", "e-run", **{"gen_ai.tool.call.arguments": '{"amount": 5}'})
    recorded(server, "globex", "f-run")
    assert 'value="e-run"' in (manager.open(f"{path}/test") and manager.page.text)
    assert "f-run" not in manager.page.text
    assert "execute_tool refund" in manager.open(f"{path}/test", run="e-run")
    text = manager.send(f"{path}/test", run="e-run", span="1" * 16)
    assert "reject ask first" in text
    assert "Not captured, so the hook could not see it: result" in text
    assert '"amount": 5' in text
    for run in ("f-run", "none"):
        assert f"There is no run {run} here" in manager.open(f"{path}/test", run=run)
        manager.send(f"{path}/test", run=run, span="1" * 16)
        assert manager.page.status_code == 404
    assert "choose an operation" in manager.send(f"{path}/test", run="e-run")


def test_recorded_runs_are_for_those_who_may_read_runs(server: Served, path: str) -> None:
    recorded(server, "acme", "a-run")
    plain = browser(server, "hooks:manage")
    assert "runs:read" in plain.open(f"{path}/test", run="a-run")
    assert "execute_tool" not in plain.text
    assert "runs:read" in plain.send(f"{path}/test", run="a-run", span="1" * 16)
    assert plain.page.status_code == 403


def test_hooks_of_others_are_not_tried(server: Served, manager: Browser) -> None:
    made = server.client.post("/v1/hooks", json=SYSTEM, headers=server.key("", "hooks:admin")).json()
    for method in (manager.open, manager.send):
        method(f"/hooks/{made['hook_id']}/test")
        assert manager.page.status_code == 403
    theirs = server.client.post("/v1/hooks", json=POLICY, headers=server.key("globex", "hooks:manage")).json()
    manager.open(f"/hooks/{theirs['hook_id']}/test")
    assert manager.page.status_code == 404


def test_a_run_leads_to_dry_runs_of_hooks_of_the_same_kind(server: Served, manager: Browser, path: str) -> None:
    recorded(server, "acme", "b-run")
    manager.open("/runs/b-run")
    assert f'href="{path}/test?run=b-run&amp;span={"1" * 16}"' in manager.page.text
    text = manager.open(f"{path}/test", run="b-run", span="1" * 16)
    assert "execute_tool refund" in text
    reader = browser(server, "hooks:read", "runs:read")
    assert "Try a hook" not in reader.open("/runs/b-run")
