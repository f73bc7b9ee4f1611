"""What a change takes away from enforcement is named, and nothing else is."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.gating import (
    UNSET,
    Bound,
    Enforcement,
    FailMode,
    Limits,
    Looser,
    compile_condition,
    find,
    handler_of,
    loosened,
    make,
    named,
)
from spanhook.settings import Mode, Settings


def enforced(*hooks: Hook | Hooks, mode: Mode = "enforce", limits: Limits | None = None) -> Enforcement:
    bound = list[Bound]()
    for one in hooks:
        bound += (one if isinstance(one, Hooks) else Hooks(one)).bound
    return Enforcement(mode, tuple((limits or Limits()).applied(one) for one in bound))


class Gate(Hook):
    kinds = ("tool.execute", "llm.call")
    name = "gate"

    def __init__(self, **settings: Any) -> None:
        for setting, value in settings.items():
            setattr(self, setting, value)

    def before(self, op: Operation) -> None:
        raise Reject(op.name)


class Asks(Hook):
    kinds = ("tool.execute",)
    name = "gate"

    def __init__(self, *, timeout: float | None = UNSET, fail_mode: FailMode) -> None:
        self.timeout, self.fail_mode = timeout, fail_mode

    async def before(self, op: Operation) -> None: ...


class Answers(Gate):
    def after(self, op: Operation) -> None: ...


def condition(text: str) -> Any:
    return compile_condition(text)


LESS: Mapping[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "shadow": ({}, {"mode": "shadow"}, "mode is shadow instead of enforce"),
    "open": ({"fail_mode": "closed"}, {"fail_mode": "open"}, "fails open instead of closed"),
    "open by its priority": ({"priority": 99}, {"priority": 100}, "fails open instead of closed"),
    "fewer kinds": ({}, {"kinds": ("llm.call",)}, "kinds no longer has tool.execute"),
    "kinds after all": ({"kinds": "*"}, {"kinds": ("llm.call",)}, "kinds no longer has others than llm.call"),
    "fewer tools": ({"names": {"a", "b"}}, {"names": {"b", "c"}}, "names no longer has a"),
    "tools after all": ({}, {"names": {"b", "c"}}, "names no longer has others than b, c"),
    "fewer models": ({"models": {"a"}}, {"models": {"b"}}, "models no longer has a"),
    "agents after all": ({}, {"agents": {"b"}}, "agents no longer has others than b"),
    "one tenant": ({}, {"tenant_id": "acme"}, "runs for tenant 'acme' only"),
    "another tenant": ({"tenant_id": "globex"}, {"tenant_id": "acme"}, "runs for tenant 'acme' only"),
    "outermost": ({}, {"outermost": True}, "runs for outermost operations only"),
    "a condition": ({}, {"when": condition("name == 'a'")}, "runs under a condition only"),
    "another condition": (
        {"when": condition("name == 'a'")},
        {"when": condition("name == 'b'")},
        "runs under another condition",
    ),
}


@pytest.mark.parametrize("case", LESS)
def test_a_hook_that_enforces_less_is_named(case: str) -> None:
    before, now, change = LESS[case]
    assert loosened(enforced(Gate(**before)), enforced(Gate(**now))) == [f"hook 'gate': {change}"]


@pytest.mark.parametrize("case", [case for case in LESS if case not in ("another tenant", "another condition")])
def test_the_other_way_round_takes_nothing_away(case: str) -> None:
    before, now, _ = LESS[case]
    found = loosened(enforced(Gate(**now)), enforced(Gate(**before)))
    assert found == (["hook 'gate': names no longer has c"] if case == "fewer tools" else []) or case == "fewer models"


def test_a_hook_fewer_is_named() -> None:
    first, second = Gate(), Gate(name="second")
    assert loosened(enforced(first, second), enforced(first)) == ["hook 'second' is gone"]
    assert loosened(enforced(first), enforced(first, second)) == []
    assert loosened(enforced(first), enforced(Gate(tenant_id="acme"), Gate())) == []
    both = enforced(Gate(tenant_id="acme"), Gate(tenant_id="globex"))
    assert loosened(both, enforced(Gate(tenant_id="globex"))) == ["hook 'gate' is gone"]


def test_functions_that_are_no_longer_there_are_named() -> None:
    assert loosened(enforced(Answers()), enforced(Gate())) == ["hook 'gate': no longer runs as after"]
    assert loosened(enforced(Answers(stream="buffer")), enforced(Answers(stream="observe"))) == [
        "hook 'gate': no longer holds streams back"
    ]


def test_subscriptions_and_what_is_there_for_the_time_being_do_not_count() -> None:
    hooks = Hooks()
    hooks.on("*", lambda event: None)
    passing = Gate()
    passing._compared = False
    assert loosened(enforced(hooks, passing), enforced()) == []


def test_settings_of_all_hooks_count() -> None:
    gate = Gate(priority=200)
    closed, usual = Limits(fail_open=False), Limits()
    assert loosened(enforced(gate, limits=closed), enforced(gate, limits=usual)) == [
        "hook 'gate': fails open instead of closed"
    ]
    for mode in ("shadow", "off"):
        less: Mode = mode
        assert loosened(enforced(gate), enforced(gate, mode=less)) == [f"mode is {mode} instead of enforce"]
        assert loosened(enforced(gate, mode=less), enforced(gate)) == []
    assert loosened(enforced(gate, mode="off"), enforced()) == []


def test_a_hook_in_shadow_enforced_nothing() -> None:
    assert loosened(enforced(Gate(mode="shadow"), Gate(name="other")), enforced()) == ["hook 'other' is gone"]
    assert loosened(enforced(Gate(mode="shadow")), enforced(Gate(mode="shadow", names={"a"}))) == []
    assert loosened(enforced(Gate(), mode="shadow"), enforced(mode="shadow")) == []


def test_less_time_counts_for_hooks_that_wait_and_fail_open() -> None:
    change = ["hook 'gate': has less time, and fails open"]
    longer, shorter = Asks(timeout=1.0, fail_mode="open"), Asks(timeout=0.1, fail_mode="open")
    assert loosened(enforced(longer), enforced(shorter)) == change
    assert loosened(enforced(shorter), enforced(longer)) == []
    assert loosened(enforced(Asks(timeout=None, fail_mode="open")), enforced(longer)) == change
    assert loosened(enforced(longer), enforced(Asks(timeout=0.1, fail_mode="closed"))) == []
    unset = Asks(fail_mode="open")
    assert loosened(enforced(unset), enforced(unset, limits=Limits(timeout_ns=1_000_000))) == change
    plain = Gate(fail_mode="open")  # cannot be interrupted: its decision stands
    assert loosened(enforced(plain), enforced(plain, limits=Limits(timeout_ns=1_000_000))) == []


LAX: Mapping[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "strict": ({"strict": True}, {"strict": False}, ["strict is false instead of true"]),
    "allow": ({"strict": True}, {"strict": True, "allow": ["openai", "mcp"]}, ["allow also has mcp, openai"]),
    "allow without strict": ({}, {"allow": ["openai"]}, []),
    "baggage": ({}, {"trust_baggage": True}, ["trust_baggage is true instead of false"]),
    "bodies": ({"max_request_body": 10}, {"max_request_body": 20}, ["max_request_body is 20 instead of 10"]),
}


@pytest.mark.parametrize("case", LAX)
def test_settings_of_the_process_count(case: str) -> None:
    before, now, changes = LAX[case]
    was, becomes = Enforcement("enforce", (), Settings(**before)), Enforcement("enforce", (), Settings(**now))
    assert loosened(was, becomes) == changes
    assert loosened(becomes, was) == []


SETTINGS: Mapping[str, tuple[str, dict[str, Any], dict[str, Any], list[str]]] = {
    "default": (
        "tool_policy",
        {"default": "deny"},
        {"rules": [{"deny": ["x"]}]},
        ["default is allow instead of deny"],
    ),
    "a rule fewer": (
        "tool_policy",
        {"rules": [{"deny": ["a"]}, {"deny": ["b"]}]},
        {"rules": [{"deny": ["b"]}]},
        ["rule 1 of 2, which denies, is gone or narrower"],
    ),
    "a narrower rule": (
        "tool_policy",
        {"rules": [{"deny": ["a", "b"]}]},
        {"rules": [{"deny": ["a"]}]},
        ["rule 1 of 1, which denies, is gone or narrower"],
    ),
    "a rule with a condition": (
        "tool_policy",
        {"rules": [{"deny": ["a"]}]},
        {"rules": [{"deny": ["a"], "when": "arguments.secret == 'x'"}]},
        ["rule 1 of 1, which denies, is gone or narrower"],
    ),
    "an exception": (
        "tool_policy",
        {"rules": [{"deny": ["a"]}]},
        {"rules": [{"allow": ["a"], "users": ["ann"]}, {"deny": ["a"]}]},
        ["rule 1 of 2 allows what no rule allowed"],
    ),
    "another order": (
        "tool_policy",
        {"rules": [{"deny": ["a"]}, {"allow": ["*"]}], "default": "deny"},
        {"rules": [{"allow": ["*"]}, {"deny": ["a"]}], "default": "deny"},
        ["the rules are in another order"],
    ),
    "another order, and another reason": (
        "tool_policy",
        {"rules": [{"deny": ["a"]}, {"allow": ["*"]}]},
        {"rules": [{"allow": ["*"]}, {"deny": ["a"], "reason": "no"}]},
        ["the rules are in another order"],
    ),
    "another order of wildcards": (
        "tool_policy",
        {"rules": [{"allow": ["b"]}, {"deny": ["pay_*"]}, {"allow": ["pay_me"]}], "default": "deny"},
        {"rules": [{"allow": ["b"]}, {"allow": ["pay_me"]}, {"deny": ["pay_*"]}], "default": "deny"},
        ["the rules are in another order"],
    ),
    "a rate counted elsewhere": (
        "rate_limit",
        {"limit": "10/minute"},
        {"limit": "10/minute", "store": "redis://127.0.0.1:1"},
        ["store is another one, which has not counted what the one before has"],
    ),
    "a refusal that a person may lift": (
        "remote_policy",
        {"service": "opa", "url": "http://127.0.0.1/v1/data/a"},
        {"service": "opa", "url": "http://127.0.0.1/v1/data/a", "approval": {}},
        ["approval, which was not there, is there"],
    ),
    "a refusal that nobody need lift": (
        "remote_policy",
        {"service": "opa", "url": "http://127.0.0.1/v1/data/a", "approval": {"approvers": ["ann"]}},
        {"service": "opa", "url": "http://127.0.0.1/v1/data/a", "approval": {"on_timeout": "allow"}},
        ["approval.on_timeout is allow instead of deny", "approval.approvers is empty, which means all"],
    ),
    "a budget raised": (
        "budget",
        {"usd": 5, "tokens": 100},
        {"usd": 25},
        ["tokens, which was 100, is gone", "usd is 25.0 instead of 5.0"],
    ),
    "a budget of a shorter time": (
        "budget",
        {"usd": 5, "per": "tenant", "window": "day"},
        {"usd": 5, "per": "user", "window": "hour"},
        ["per is user instead of tenant", "window is hour instead of day"],
    ),
    "a rate raised": (
        "rate_limit",
        {"limit": "10/minute; 100/day"},
        {"limit": "10/minute"},
        ["limit is '10/minute' instead of '10/minute; 100/day'"],
    ),
    "a guard off": ("loop_guard", {"repeats": 3}, {"repeats": None}, ["repeats, which was 3, is gone"]),
    "approved in time": ("approval", {}, {"on_timeout": "allow"}, ["on_timeout is allow instead of deny"]),
    "approved by anybody": (
        "approval",
        {"approvers": ["ann"]},
        {"self_approval": True},
        ["approvers is empty, which means all", "self_approval is true instead of false"],
    ),
    "approved by more": ("approval", {"approvers": ["a"]}, {"approvers": ["a", "b"]}, ["approvers has 1 more"]),
    "fewer entities": (
        "pii_redaction",
        {"entities": ["EMAIL", "IBAN"], "patterns": {"ID": "[0-9]+"}, "action": "reject"},
        {"entities": ["EMAIL"]},
        [
            "1 of 2 items of entities is gone or changed",
            "1 of 1 items of patterns is gone or changed",
            "action is mask instead of reject",
        ],
    ),
    "flagged only": (
        "injection_scan",
        {"action": "reject", "threshold": 0.5},
        {"action": "flag", "threshold": 0.9},
        [
            "fails open instead of closed",
            "no longer holds streams back",
            "action is flag instead of reject",
            "threshold is 0.9 instead of 0.5",
        ],
    ),
    "fewer checks": (
        "remote_policy",
        {"service": "opa", "url": "http://127.0.0.1/v1/data/a", "check": ["request", "result"]},
        {"service": "opa", "url": "http://127.0.0.1/v1/data/a", "check": ["request"]},
        ["no longer holds streams back", "1 of 2 items of check is gone or changed"],
    ),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_let_more_pass_are_named(case: str) -> None:
    use, before, now, changes = SETTINGS[case]
    was, becomes = make(find(use), before, name="it"), make(find(use), now, name="it")
    found = loosened(enforced(was), enforced(becomes))
    assert [one for one in found if "no longer runs" not in one] == [f"hook 'it': {change}" for change in changes]


@pytest.mark.parametrize(
    ("use", "before", "now"),
    [
        ("tool_policy", {"rules": [{"deny": ["a"]}]}, {"rules": [{"deny": ["b", "a"]}]}),
        ("tool_policy", {"rules": [{"deny": ["a", "b"]}]}, {"rules": [{"deny": ["a"]}, {"deny": ["b"]}]}),
        ("tool_policy", {"rules": [{"deny": ["a"], "when": "name == 'a'"}]}, {"rules": [{"deny": ["*"]}]}),
        ("tool_policy", {"rules": [{"deny": ["a"]}]}, {"rules": [{"deny": ["a"], "reason": "no"}]}),
        ("tool_policy", {"rules": [{"allow": ["a", "b"]}], "default": "deny"}, {"default": "deny"}),
        (
            "tool_policy",
            {"rules": [{"deny": ["a"]}, {"allow": ["b"]}, {"deny": ["c"]}]},
            {"rules": [{"deny": ["c"]}, {"allow": ["b"]}, {"deny": ["a"]}]},
        ),
        (
            "remote_policy",
            {"service": "opa", "url": "http://127.0.0.1/v1/data/a", "approval": {"on_timeout": "allow"}},
            {"service": "opa", "url": "http://127.0.0.1/v1/data/a"},
        ),
        ("budget", {"usd": 5}, {"usd": 4, "status_code": 503}),
        ("rate_limit", {"limit": "10/minute"}, {"limit": "5/minute; 3/hour"}),
        ("loop_guard", {"repeats": 3}, {"repeats": 2}),
        ("approval", {"timeout": 60}, {"timeout": 3600, "title": "A refund"}),
        ("injection_scan", {"threshold": 0.9}, {"threshold": 0.5}),
    ],
)
def test_settings_that_let_less_pass_are_not(use: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    was, becomes = make(find(use), before, name="it"), make(find(use), now, name="it")
    assert loosened(enforced(was), enforced(becomes)) == []


def test_another_kind_of_hook_by_the_same_name_is_named() -> None:
    was = make(find("tool_policy"), {"default": "deny"}, name="it")
    becomes = make(find("loop_guard"), {}, name="it")
    assert loosened(enforced(was), enforced(becomes)) == ["hook 'it': is another kind of hook"]


OBSERVERS = {"console_log", "file_log", "metrics", "webhook_forwarder"}
"""Hooks that come with spanhook and refuse nothing."""


def test_settings_with_several_values_say_which_of_them_let_more_pass() -> None:
    silent = list[str]()
    for name in sorted(one for one, reference in named().items() if reference.startswith("spanhook.hooks.")):
        marked = handler_of(find(name))
        assert marked is not None
        fields: dict[str, Any] = {} if marked.config is None or name in OBSERVERS else marked.config.model_fields
        silent += (f"{name}.{field}" for field in silent_in(fields))
    assert silent == []


def silent_in(fields: Mapping[str, Any]) -> Iterator[str]:
    for field, info in fields.items():
        is_union = get_origin(info.annotation) in (Union, UnionType)
        kinds = get_args(info.annotation) if is_union else (info.annotation,)
        choices = any(kind is bool or get_origin(kind) is Literal for kind in kinds)
        if choices and not any(isinstance(one, Looser) for one in info.metadata):
            yield field
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from (f"{field}.{inner}" for inner in silent_in(kind.model_fields))
