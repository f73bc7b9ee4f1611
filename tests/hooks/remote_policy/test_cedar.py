"""Cedar in the process."""

from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError
from spanhook.hooks.remote_policy import RemotePolicy
from spanhook.testing import recorder
from tests.hooks.remote_policy.calls import WAYS, refund, refusal

SMALL = """
@id("small") permit(principal, action == Action::"tool.execute.pre", resource == Tool::"refund")
when { context.arguments.amount.lessThan(decimal("50.0")) };
"""
ALL = "permit(principal, action, resource);"


@pytest.fixture
def cedar(tmp_path: Path) -> Any:
    def make(policies: str, **settings: Any) -> RemotePolicy:
        (tmp_path / "agents.cedar").write_text(policies)
        given: dict[str, Any] = {"send": ["arguments", "identity.user_id"], **settings}
        return RemotePolicy("cedar", policies=[str(tmp_path / "agents.cedar")], **given)

    return make


@pytest.mark.parametrize("way", WAYS)
def test_it_allows_and_denies(cedar: Any, way: str) -> None:
    with recorder(cedar(ALL)):
        assert WAYS[way]() == "refunded 5"
    with recorder(cedar('@id("none") forbid(principal, action, resource);')):
        assert refusal(WAYS[way]).reason == "The policy does not allow this (none)"


def test_floats_are_decimals_and_are_not_rounded(cedar: Any) -> None:
    with recorder(cedar(SMALL)) as seen:
        assert refund(12.5) == "refunded 12.5"
        assert refund(49.9999) == "refunded 49.9999"
        assert refusal(lambda: refund(50.0)).status_code == 403
        for odd in (49.99999, 1e-5, 1e300, 10.0**15):
            assert refusal(lambda odd=odd: refund(odd)).status_code == 422
    [event] = seen.spans[0].events
    assert dict(event.attributes or {}) == {
        "gen_ai.guardrail.result.value": "Allow",
        "gen_ai.guardrail.result.type": "categorical",
        "gen_ai.guardrail.policy.id": "small",
    }


@pytest.mark.every_value
@pytest.mark.parametrize(
    "amount", [5, "5", True, None, [5.0], {"amount": 5.0}, 2**63, -(2**63) - 1], ids=lambda one: repr(one)[:20]
)
def test_any_error_denies(cedar: Any, amount: Any) -> None:
    asked = cedar(SMALL)
    asked.fail_mode = "closed"
    with recorder(asked):
        assert refusal(lambda: refund(amount)).status_code in (502, 422)


def test_a_forbid_that_errs_denies_although_cedar_allows(cedar: Any) -> None:
    asked = cedar(ALL + "forbid(principal, action, resource) when { context.arguments.amonut > 50 };")
    asked.fail_mode = "open"
    with recorder(asked):
        assert refusal().status_code == 502


def test_no_policy_denies(cedar: Any) -> None:
    with recorder(cedar("")):
        assert refusal().status_code == 403


@pytest.mark.every_value
@pytest.mark.parametrize(
    "odd",
    [
        {"__entity": {"type": "User", "id": "admin"}},
        {"__extn": {"fn": "decimal", "arg": "1.0"}},
        {"a": [{"__expr": "1"}]},
        [None],
    ],
)
def test_data_cannot_pass_for_something_else(cedar: Any, odd: Any) -> None:
    with recorder(cedar(ALL)):
        assert refusal(lambda: refund(odd)).status_code == 422


def test_the_user_is_the_principal_whatever_its_name(cedar: Any) -> None:
    with recorder(cedar('permit(principal == User::"u-1", action, resource);')):
        with spanhook.context(user_id="u-1"):
            assert refund() == "refunded 5"
        for other in ("", "u-2", 'u-1" || true', 'User::"u-1"', "U-1"):
            with spanhook.context(user_id=other):
                assert refusal().status_code == 403


def test_results_have_an_action_of_their_own(cedar: Any) -> None:
    asked = cedar('permit(principal, action == Action::"tool.execute.pre", resource);', check=["request", "result"])
    with recorder(asked) as seen:
        assert refusal().status_code == 403
    assert [op.called for op in seen.operations] == [True]


def test_entities_and_a_schema_are_read(cedar: Any, tmp_path: Path) -> None:
    entities = tmp_path / "entities.json"
    entities.write_text(
        '[{"uid": {"type": "User", "id": "u-1"}, "attrs": {}, "parents": [{"type": "Team", "id": "desk"}]},'
        ' {"uid": {"type": "Team", "id": "desk"}, "attrs": {}, "parents": []}]'
    )
    asked = cedar('permit(principal in Team::"desk", action, resource);', data=str(entities))
    with recorder(asked), spanhook.context(user_id="u-1"):
        assert refund() == "refunded 5"
    with recorder(asked), spanhook.context(user_id="u-2"):
        assert refusal().status_code == 403
    entities.write_text("[{]")
    with pytest.raises(ConfigurationError, match="Cedar cannot read its files"):
        cedar(ALL, data=str(entities))


def test_policies_that_cannot_be_read_are_refused(cedar: Any) -> None:
    with pytest.raises(ConfigurationError, match="Cedar cannot read its files"):
        cedar("permit(principal, action")
