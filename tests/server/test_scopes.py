from spanhook.server import LOCAL, SCOPES, Principal
from spanhook.server.scopes import scopes_of


def test_scopes_are_those_of_the_control_plane() -> None:
    assert SCOPES == (
        "hooks:read", "hooks:manage", "hooks:admin", "hooks:sync",
        "approvals:decide", "usage:read", "runs:read", "jobs:run", "jobs:read", "telemetry:write", "webhooks:manage",
    )  # fmt: skip


def test_an_admin_manages_and_a_manager_reads() -> None:
    assert scopes_of(["hooks:admin"]) == {"hooks:admin", "hooks:manage", "hooks:read"}
    assert scopes_of(["hooks:manage"]) == {"hooks:manage", "hooks:read"}
    assert scopes_of(["*", "hooks", "HOOKS:READ", 5, None, "runs:read"]) == {"runs:read"}


def test_a_caller_sees_what_is_its_tenants_and_an_operator_everything() -> None:
    caller = Principal("ada", "acme", False, frozenset(), "token")
    assert [caller.sees(one) for one in ("acme", "globex", "", "ACME")] == [True, False, False, False]
    assert not Principal("x", "", False, frozenset(), "token").sees("")
    assert all(map(LOCAL.sees, ("acme", "")))
