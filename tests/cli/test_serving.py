import json
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spanhook.cli.main import cli
from spanhook.store import verify


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def serve(*arguments: str) -> tuple[int, str, str]:
    # Before click 8.2, a runner mixes the two streams unless told otherwise; since then it takes no such argument.
    apart: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    done = CliRunner(**apart).invoke(cli, ["serve", *arguments], standalone_mode=False)
    code = done.return_value or 0 if done.exception is None else 2
    return code, done.stdout, done.stderr or str(done.exception)


def test_a_tenants_key_has_the_scopes_of_tenants_and_says_so() -> None:
    code, out, errors = serve("keys", "create", "ci", "--tenant", "acme", "--scope", "hooks:admin,runs:read", "--json")
    key = json.loads(out)
    assert (code, key["scopes"]) == (0, ["hooks:manage", "hooks:read", "policies:manage", "runs:read"])
    assert "hooks:admin is for operators: the key of tenant 'acme' has hooks:manage and policies:manage" in errors
    assert "hooks:admin" not in serve("keys", "list", "--json")[1]


def test_keys_are_made_listed_and_revoked() -> None:
    code, out, _ = serve("keys", "create", "ci", "--tenant", "acme", "--scope", "hooks:read,runs:read", "--json")
    key = json.loads(out)
    assert code == 0
    assert key["key"].startswith(f"shk_{key['key_id']}_")
    assert (key["tenant"], key["scopes"]) == ("acme", ["hooks:read", "runs:read"])
    _, out, _ = serve("keys", "list", "--json")
    (listed,) = json.loads(out)
    assert listed == {name: value for name, value in key.items() if name != "key"}
    assert serve("keys", "revoke", key["key_id"])[0] == 0
    assert "revoked" in serve("keys", "list")[1]
    assert serve("keys", "revoke", key["key_id"])[0] == 2


def test_a_key_alone_is_on_standard_output() -> None:
    _, out, errors = serve("keys", "create", "ops", "--operator", "--scope", "hooks:admin")
    assert out.startswith("shk_")
    assert len(out.splitlines()) == 1
    assert "only a hash" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scope", "runs:read"), "one of --tenant"),
        (("--scope", "runs:read", "--tenant", "a", "--operator"), "one of --tenant"),
        (("--scope", "all", "--tenant", "a"), "there is no scope 'all'"),
    ],
)
def test_whose_key_it_is_and_what_it_may_is_said(arguments: tuple[str, ...], said: str) -> None:
    code, _, errors = serve("keys", "create", "ci", *arguments)
    assert code == 2
    assert said in errors


def test_the_audit_record_can_be_verified(tmp_path: Path) -> None:
    database = "sqlite:///other.db"
    assert serve("--database", database, "keys", "create", "ci", "--tenant", "acme", "--scope", "runs:read")[0] == 0
    assert serve("keys", "create", "b", "--tenant", "b", "--scope", "runs:read", "--database", database)[0] == 0
    _, out, _ = serve("audit", "--database", database)
    (tmp_path / "audit.jsonl").write_text(out)
    (report,) = verify([tmp_path / "audit.jsonl"])
    assert (report.problem, report.last) == ("", 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--host", "0.0.0.0"), "no authentication"),
        (("--host", "0.0.0.0", "--api-keys"), "--allow-host"),
        (("--port", "0", "--database", "mysql://x"), "expected sqlite:///"),
        (("--port", "0", "--database", "sqlite:////"), "sqlite:///"),
        (("--port", "0", "--database", "sqlite:////nowhere/at/all.db"), "the folder '/nowhere/at' does not exist"),
        (("--port", "0", "--config", "nothing.yaml"), "nothing.yaml"),
    ],
)
def test_what_keeps_it_from_serving_is_said(arguments: tuple[str, ...], said: str) -> None:
    code, out, errors = serve(*arguments)
    assert (code, out) == (2, "")
    assert said in errors
