"""What leaves the process."""

from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError
from spanhook.testing import recorder
from tests.hooks.remote_policy.calls import policy, refund, refusal
from tests.hooks.remote_policy.policy_server import serving

ALLOW, DENY = {"result": True}, {"result": False}


def test_nothing_leaves_but_what_send_names() -> None:
    settings: dict[str, Any] = {"send": ["arguments", "identity.user_id", "identity.attributes.plan"]}
    known = spanhook.context(user_id="u-1", tenant_id="secret-1", session_id="secret-2", plan="free", pin="secret-3")
    with serving(ALLOW) as server, recorder(policy("opa", server.url, **settings)), known:
        refund(5, note="please")
    [asked] = server.seen
    assert asked.body == {
        "input": {
            "kind": "tool.execute",
            "phase": "pre",
            "name": "refund",
            "arguments": {"amount": 5, "note": "please"},
            "identity": {"user_id": "u-1", "attributes": {"plan": "free"}},
        }
    }
    assert b"secret" not in asked.raw
    assert set(asked.headers) == {
        "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length",
    }  # fmt: skip


def test_without_send_nothing_but_kind_phase_and_name_leaves() -> None:
    with serving(ALLOW) as server, recorder(policy("opa", server.url, send=[])):
        refund(5, note="secret")
    assert server.seen[0].body == {"input": {"kind": "tool.execute", "phase": "pre", "name": "refund"}}


def test_headers_from_the_environment_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY_KEY", "k-1")
    settings = {"headers": {"X-App": "desk"}, "headers_env": {"Authorization": "POLICY_KEY"}}
    with serving(ALLOW) as server, recorder(policy("opa", server.url, **settings)):
        refund()
    assert (server.seen[0].headers["x-app"], server.seen[0].headers["authorization"]) == ("desk", "k-1")
    monkeypatch.delenv("POLICY_KEY")
    with pytest.raises(ConfigurationError, match="POLICY_KEY is not set"):
        policy("opa", "http://policy.internal", **settings)


def test_what_cannot_be_written_as_json_is_not_sent_and_denied() -> None:
    with serving(ALLOW) as server:
        asked = policy("opa", server.url)
        asked.fail_mode = "open"
        with recorder(asked):
            for odd in (float("nan"), object(), b"\xff", "\ud800"):
                assert refusal(lambda odd=odd: refund(odd)).status_code == 422
    assert server.seen == []
