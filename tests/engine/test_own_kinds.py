"""Kinds of operation of the application's own: registered, so that a misspelt one is still told."""

from collections.abc import Iterator
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation
from spanhook.model import _kinds
from spanhook.testing import recorder


@pytest.fixture(autouse=True)
def own() -> Iterator[None]:
    """Kinds registered in a test are there in that test alone."""
    before = list(_kinds._own)
    yield
    added = set(_kinds._own) - set(before)
    _kinds._own[:] = before
    _kinds.REWRITABLE.difference_update(added)
    _kinds.REPLACEABLE.difference_update(added)


def test_it_is_gated_rewritten_replaced_and_counted() -> None:
    kind = spanhook.register_kind("billing.charge")
    hooks = Hooks()

    @hooks.before(kind, names={"card"})
    def halve(op: Operation) -> None:
        op.replace(arguments={"amount": op.request.arguments["amount"] // 2})

    @hooks.after("*", stream="buffer")
    def double(op: Operation) -> None:
        op.respond(op.result * 2)

    @spanhook.operation("billing.charge", "card")
    def charge(amount: int) -> int:
        return amount

    with recorder(hooks) as seen:
        assert charge(10) == 10
        with operation(kind, "card", request={"arguments": {"amount": 6}}) as op:
            assert op.result_of(op.request.arguments["amount"]) == 6
        decisions = {point["spanhook.event"] for point, _ in seen.metrics()["spanhook.hook.decisions"]}
    assert [(op.kind, op.name) for op in seen.operations] == [(kind, "card")] * 2
    span = seen.spans[0]
    attributes = dict(span.attributes or {})
    assert span.name == "billing.charge card"
    assert attributes["spanhook.operation.name"] == "card"
    assert attributes["spanhook.kind"] == kind
    assert "gen_ai.operation.name" not in attributes  # which has the conventions' words alone
    assert decisions == {"billing.charge.pre", "billing.charge.post"}


def test_hooks_for_all_kinds_know_of_one_that_comes_later() -> None:
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks):
        spanhook.register_kind("billing.later")
        with pytest.raises(Reject), operation("billing.later", "x"):
            raise AssertionError


def test_subscriptions() -> None:
    spanhook.register_kind("billing.refund")
    hooks = Hooks()
    told: list[str] = []
    hooks.on("billing.refund.post", lambda op: told.append(op.event))
    with recorder(hooks), operation("billing.refund", "x"):
        pass
    assert hooks.flush()
    assert told == ["billing.refund.post"]


def test_one_that_nobody_has_registered_is_refused() -> None:
    hooks = Hooks()
    with pytest.raises(ConfigurationError, match=r"unknown kind 'billing.chrage'.*register_kind"):
        hooks.before("billing.chrage")(lambda op: None)
    with pytest.raises(ConfigurationError, match=r"register_kind\('billing.chrage'\)"):
        operation("billing.chrage", "x")
    spanhook.register_kind("billing.charge")
    with pytest.raises(ConfigurationError, match=r"did you mean 'billing\.charge'"):
        hooks.before("billing.chrage")(lambda op: None)


@pytest.mark.parametrize("kind", ["", "Billing", "billing charge", "billing.", "*", 3, "billing.post"])
def test_what_cannot_be_a_kind(kind: Any) -> None:
    with pytest.raises(ConfigurationError, match="kind"):
        spanhook.register_kind(kind)


def test_again_and_too_many() -> None:
    assert spanhook.register_kind("tool.execute") == "tool.execute"
    for index in range(_kinds.MOST - len(_kinds._own)):
        spanhook.register_kind(f"own.kind_{index}")
        spanhook.register_kind(f"own.kind_{index}")
    with pytest.raises(ConfigurationError, match="at most 50"):
        spanhook.register_kind("own.more")
