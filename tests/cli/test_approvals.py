"""``spanhook approvals``: what it shows, and what becomes of requests."""

import json
import subprocess
from pathlib import Path

import pytest

from spanhook.store import ApprovalRequest, open_approvals
from tests.commands import Folder
from tests.forking import children

REQUEST = ApprovalRequest("r1", "b1", "close", "close_account", "acme", "ann", "s", "desk", '{"account":7}', "Careful")


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return Folder(folder).here("approvals", *arguments)


def run_apart(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The same in a process of its own."""
    return children.run("-m", "spanhook", "approvals", *arguments, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spanhook.yaml").write_text("stores: {default: 'sqlite:///a.db'}\n")
    open_approvals(f"sqlite:///{tmp_path}/a.db").ask(REQUEST, 3_600)
    return tmp_path


def test_requests_are_listed_shown_and_answered(folder: Path) -> None:
    ran = run(folder, "list")
    heading, row = ran.stdout.splitlines()
    assert heading.split() == ["ID", "STATUS", "TOOL", "WHO", "UNTIL", "ARGUMENTS"]
    assert row.split()[:4] == ["r1", "pending", "close_account", "acme/ann"]
    assert row.endswith('{"account":7}')

    ran = run(folder, "show", "r1")
    assert 'arguments   {"account":7}' in ran.stdout.splitlines()
    assert "title       Careful" in ran.stdout.splitlines()

    ran = run(folder, "approve", "r1", "--as", "ann")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "spanhook: 'ann' has asked for this, and may not answer it\n"

    ran = run(folder, "approve", "r1", "--as", "bob", "--reason", "fine")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "r1 approved by bob\n", "")

    ran = run(folder, "deny", "r1", "--as", "bob")
    assert ran.returncode == 1
    assert "not open any more: it was approved by bob" in ran.stderr

    assert run(folder, "list").stdout.startswith("no pending requests in sqlite:///")
    [found] = json.loads(run(folder, "list", "--all", "--json").stdout)
    assert (found["status"], found["answered_by"], found["reason"]) == ("approved", "bob", "fine")


def test_json_is_all_there_is(folder: Path) -> None:
    assert json.loads(run(folder, "show", "r1", "--json").stdout)["tool"] == "close_account"
    [denied] = json.loads(run(folder, "deny", "r1", "--as", "bob", "--json").stdout)
    assert denied["status"] == "denied"


def test_what_was_answered_is_printed_although_another_cannot_be(folder: Path) -> None:
    ran = run(folder, "approve", "r1", "unknown", "--as", "bob", "--json")
    assert ran.returncode == 1
    assert [one["status"] for one in json.loads(ran.stdout)] == ["approved"]
    assert "there is no request 'unknown'" in ran.stderr


def test_a_terminal_is_not_told_to_hide_anything(folder: Path) -> None:
    hiding = "\x1b[2K\r\u202e\x9b1m\n"
    asked = ApprovalRequest("r2", "b2", "p", f"t{hiding}", hiding, f"u{hiding}", arguments=f'{{"a":"Zoë{hiding}"}}')
    open_approvals(f"sqlite:///{folder}/a.db").ask(asked, 3_600)
    for arguments in (("list",), ("show", "r2")):
        shown = run_apart(folder, *arguments).stdout
        assert "Zoë\\x1b[2K\\r\\u202e\\x9b1m\\n" in shown
        assert all(one.isprintable() for line in shown.split("\n") for one in line)
    assert len(run(folder, "list").stdout.splitlines()) == 3


def test_a_terminal_that_lacks_characters_is_shown_their_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_approvals(f"sqlite:///{folder}/a.db").ask(ApprovalRequest("r2", "b2", "p", "t", title="お茶"), 3_600)
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert "title       \\u304a\\u8336" in run_apart(folder, "show", "r2").stdout.splitlines()


def test_a_call_that_was_made_before_is_marked(folder: Path) -> None:
    approvals = open_approvals(f"sqlite:///{folder}/a.db")
    for one in ("r2", "r3"):
        approvals.ask(ApprovalRequest(one, "b2", "p", "t", place="here"), 3_600)
        approvals.answer(one, approve=True, by="bob")
        approvals.use(one, "here/1")
    assert "repeats     r2: this call was made before" in run(folder, "show", "r3").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("show", "unknown"), 1, "there is no request 'unknown'"),
        (("list", "--store", "memory://"), 2, "known to the application's process alone"),
        (("list", "--store", "sqlite:///missing/a.db"), 2, "missing' does not exist"),
        (("list", "--store", "redis://127.0.0.1:1/0"), 2, "redis://127.0.0.1:1/0 cannot be used: ConnectionError"),
        (("list", "--config", "missing.yaml"), 2, "missing.yaml"),
        (("approve",), 2, "Missing argument"),
    ],
)
def test_what_cannot_be_done_is_said(folder: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    ran = run(folder, *arguments)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert said in ran.stderr


def test_policies_are_not_its_business(folder: Path) -> None:
    (folder / "spanhook.yaml").write_text("stores: {default: 'sqlite:///a.db'}\npolicies: [{use: nothing, id: a}]\n")
    assert "close_account" in run(folder, "list").stdout


def test_without_a_store_it_says_how_to_name_one(tmp_path: Path) -> None:
    ran = run(tmp_path, "list")
    assert ran.returncode == 2
    assert "give --store, or the configuration file with --config" in ran.stderr
