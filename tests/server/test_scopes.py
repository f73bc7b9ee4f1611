from spanhook.server import LOCAL, SCOPES, Principal
from spanhook.server.scopes import scopes_of


def test_scopes_are_those_of_the_control_plane() -> None:
    assert SCOPES == (
        "hooks:read", "hooks:manage", "hooks:admin", "hooks:sync", "policies:manage",
        "approvals:decide", "usage:read", "runs:read", "jobs:run", "jobs:read", "telemetry:write", "webhooks:manage",
    )  # fmt: skip


def test_an_admin_manages_and_a_manager_reads() -> None:
    admin = {"hooks:admin", "hooks:manage", "hooks:read", "policies:manage"}
    assert scopes_of(["hooks:admin"], operator=True) == admin
    assert scopes_of(["hooks:manage"], operator=True) == {"hooks:manage", "hooks:read"}
    assert scopes_of(["*", "hooks", "HOOKS:READ", 5, None, "runs:read"], operator=True) == {"runs:read"}


def test_nobody_with_a_tenant_is_an_admin() -> None:
    of_tenants = {"hooks:manage", "hooks:read", "policies:manage"}
    assert scopes_of(["hooks:admin"], operator=False) == of_tenants
    assert scopes_of([*SCOPES], operator=False) == {*SCOPES} - {"hooks:admin"}


def test_a_caller_sees_what_is_its_tenants_and_an_operator_everything() -> None:
    caller = Principal("ada", "acme", False, frozenset(), "token")
    assert [caller.sees(one) for one in ("acme", "globex", "", "ACME")] == [True, False, False, False]
    assert not Principal("x", "", False, frozenset(), "token").sees("")
    assert all(map(LOCAL.sees, ("acme", "")))
