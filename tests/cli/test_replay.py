"""The replay: what was enforced is decided again, and what is not recorded is never guessed."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from langsmith import tracing_context  # pyright: ignore[reportUnknownVariableType]

import spanhook
from spanhook import Reject
from spanhook.cli.load import hooks as of_load
from spanhook.cli.load.performing import perform
from spanhook.cli.load.policies import serving
from spanhook.cli.load.scenarios import script
from spanhook.cli.replay import replayed
from spanhook.cli.replay.document import Document
from spanhook.diagnostics import log
from spanhook.gating import load_hooks
from tests.cli.replay.recording import recording
from tests.commands import SPANHOOK
from tests.forking import children

HOOKS = """
import time

from spanhook import Hooks, Operation, Reject
from spanhook.hooks.rate_limit import RateLimit

hooks = Hooks()
cache = {}


@hooks.before("tool.execute", names={"refund"})
def small_refunds(op: Operation) -> None:
    if op.request.arguments["amount"] > 50:
        raise Reject("too much", status_code=402)


@hooks.before("tool.execute", names={"send_mail"})
def masked(op: Operation) -> None:
    op.replace(arguments={"to": "***"})


@hooks.before("tool.execute", names={"send_mail"}, priority=90, timeout=60.0)
async def nobody_else(op: Operation) -> None:
    if op.request.arguments["to"] != "***":
        raise Reject("not masked")


@hooks.around("tool.execute", names={"search"})
def cached(op: Operation):
    key = op.request.arguments["query"]
    if key in cache:
        return cache[key]
    cache[key] = yield


@hooks.around("tool.execute", names={"audit"}, timeout=60.0)
async def audited(op: Operation, call_next):
    await call_next()
    raise Reject("nothing leaves")


@hooks.before("tool.execute", names={"wire"})
def stop(op: Operation) -> None:
    raise Reject("stop it all", scope="run")


@hooks.after("llm.call", priority=60)
def polite(op: Operation) -> None:
    if "damn" in op.response.text:
        raise Reject("not polite")


class AskedRarely(RateLimit):
    kinds = ("llm.call",)


hooks.add(AskedRarely(per=["user"], limit="2/minute"))
"""
"""Hooks that decide by content, by identity and by what they remember."""


def use(name: str, result: object = "done", **arguments: object) -> None:
    with spanhook.operation("tool.execute", name, request={"arguments": arguments}) as op:
        op.call(lambda: result)


def ask(text: str) -> None:
    request = {"messages": [{"role": "user", "content": text}]}
    with spanhook.operation("llm.call", "acme-1", provider="acme", request=request) as op:
        op.record_usage(input_tokens=10, output_tokens=2)
        op.result_of(text)


def attempt(user: str, *calls: tuple[object, ...]) -> None:
    """One run of an agent, which goes on when a call is refused."""
    run, agent = spanhook.context(tenant_id="acme", user_id=user), spanhook.operation("agent.invoke", "support")
    with run, suppress(Reject), agent:
        for name, *given in calls:
            with suppress(Reject):
                if name == "ask":
                    ask(str(given[0]))
                else:
                    use(str(name), **dict(cast("Any", given)))


def work() -> None:
    attempt("ann", ("refund", ("amount", 60)), ("refund", ("amount", 20)), ("send_mail", ("to", "bob")))
    attempt("bob", ("search", ("query", "tea")), ("search", ("query", "tea")), ("audit",))
    attempt("cyd", ("ask", "hello"), ("ask", "hello"), ("ask", "hello"), ("ask", "damn"))
    attempt("ann", ("ask", "damn"), ("wire", ("amount", 1)), ("refund", ("amount", 1)))


@pytest.fixture
def hooks(tmp_path: Path) -> str:
    file = tmp_path / "hooks.py"
    file.write_text(HOOKS, "utf-8")
    return f"{file}:hooks"


def recorded(hooks: str, path: Path, *, content: bool = True) -> str:
    loaded = load_hooks(hooks)
    assert isinstance(loaded, spanhook.Hooks)
    with recording(loaded, content=content) as made:
        work()
    return made.write(path / "spans.jsonl")


def again(file: str, *hooks: str, compare: bool = True, config: str = "") -> Document:
    return replayed([file], compare, hooks=hooks, config=config)


def verdicts(document: Document) -> list[tuple[str, str, str, str, str]]:
    comparison = document["comparison"]
    assert comparison is not None
    return [
        (
            one["hook"],
            one["name"],
            ",".join(said["decision"] for said in one["then"]),
            ",".join(said["decision"] for said in one["now"]),
            one["verdict"],
        )
        for one in comparison["decisions"]
    ]


# ----------------------------------------------------------------------------------------------- as it was


def test_what_was_enforced_is_decided_again(hooks: str, tmp_path: Path) -> None:
    file = recorded(hooks, tmp_path)
    found = replayed_apart(file, hooks)
    assert verdicts(found) == [
        ("small_refunds", "refund", "reject", "reject", "same"),
        ("masked", "send_mail", "modify", "modify", "same"),
        ("cached", "search", "replace", "replace", "same"),
        ("audited", "audit", "reject", "reject", "same"),
        ("rate_limit", "acme-1", "reject", "reject", "same"),
        ("rate_limit", "acme-1", "reject", "reject", "same"),
        ("polite", "acme-1", "reject", "unknown", "unknown"),
        ("stop", "wire", "reject", "reject", "same"),
    ]
    assert found["unreached"] == []


def test_without_content_what_needs_it_is_unknown(hooks: str, tmp_path: Path) -> None:
    file = recorded(hooks, tmp_path, content=False)
    found = replayed_apart(file, hooks)
    comparison = found["comparison"]
    assert comparison is not None
    assert comparison["differs"] == 0
    unknown = {(one[0], one[2]) for one in verdicts(found) if one[4] == "unknown"}
    assert unknown == {
        ("small_refunds", "reject"),
        ("small_refunds", ""),
        ("cached", ""),
        ("cached", "replace"),
        ("polite", ""),
        ("polite", "reject"),
    }


def replayed_apart(file: str, hooks: str) -> Document:
    """By the command, in a process in which the hooks have counted nothing yet."""
    done = children.run(*SPANHOOK[1:], "replay", "--hooks", hooks, "--config", "", "--compare", "--json", file)
    assert done.stderr == ""
    document: Document = json.loads(done.stdout)
    assert document["comparison"] is not None
    assert done.returncode == (1 if document["comparison"]["differs"] else 0)
    return document


@pytest.mark.slow
@pytest.mark.usefixtures("limits")
def test_a_load_is_decided_as_it_was(tmp_path: Path) -> None:
    level = log.level
    log.setLevel("CRITICAL")
    try:
        with serving(), recording(of_load.hooks) as made, tracing_context(enabled=False):
            perform(list(script(45, 1, with_foreign=False)), 1, lambda: None)
    finally:
        log.setLevel(level)
    found = replayed_apart(made.write(tmp_path / "spans.jsonl"), "spanhook.cli.load.hooks:hooks")
    comparison = found["comparison"]
    assert comparison is not None
    assert [one for one in verdicts(found) if one[4] == "differs"] == []
    assert comparison["same"] > 20
    unknown = {one["hook"] for one in comparison["decisions"] if one["verdict"] == "unknown"}
    asking = {"ask_a_person", "consent", "payments"}  # people and services
    assert unknown <= {"archived", "redaction", "run_budget", "scan", *asking}  # of time, and the rest
    assert found["unreached"] == []
