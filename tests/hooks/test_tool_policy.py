"""Tools allowed and denied by rules: which rule decides, and that what is denied does not run, however it is called."""

import asyncio
import datetime as dt
import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation, semconv
from spanhook.cli.conformance.libraries.langchain import Turns, create
from spanhook.engine import call as call_by
from spanhook.gating import find, make
from spanhook.hooks.tool_policy import MANY_CALLS, Rule, ToolPolicy
from spanhook.model import Adapter, Reading, Request
from spanhook.testing import recorder

REFUNDS = {"deny": ["refund"], "when": "arguments.amount > 50", "reason": "Refunds over 50 need a person"}


def denied(policy: ToolPolicy, name: str = "refund", arguments: Any = None, **who: Any) -> Reject | None:
    """What a call of a tool is refused with; ``None`` if it is allowed."""
    given = {} if arguments is None else arguments
    with recorder(Hooks(policy)) as seen, spanhook.context(**who):
        try:
            with operation("tool.execute", name, request={"arguments": given}):
                pass
        except Reject as reject:
            return reject
    assert [op.decisions for op in seen.operations] == [()]
    return None


# ------------------------------------------------------------------------------------- which rule decides


def test_the_first_rule_that_matches_decides() -> None:
    policy = ToolPolicy([{"allow": ["search"]}, {"deny": ["s*"], "reason": "No"}, {"allow": ["store"]}])

    assert denied(policy, "search") is None
    assert denied(policy, "other") is None
    for name in ("store", "send"):
        reject = denied(policy, name)
        assert reject is not None
        assert (reject.reason, reject.status_code, reject.scope) == ("No", 403, "operation")


def test_default_deny() -> None:
    policy = ToolPolicy([{"allow": ["search"]}], default="deny")

    assert denied(policy, "search") is None
    reject = denied(policy, "refund")
    assert reject is not None
    assert (reject.reason, reject.status_code) == ("The tool 'refund' is not allowed here", 403)
    assert denied(ToolPolicy(default="deny")) is not None


@pytest.mark.parametrize(
    ("glob", "name", "matches"),
    [
        ("refund", "refund", True),
        ("refund", "Refund", False),
        ("refund", "refund_all", False),
        ("refund", "a\nrefund", False),
        ("refund", "refund\n", False),
        ("re*", "refund\nall", True),
        ("mcp__*__delete_?", "mcp__files__delete_1", True),
        ("[rs]efund", "sefund", True),
        ("[!r]efund", "refund", False),
        ("a.b", "axb", False),
        ("a|b", "a", False),
        ("(", "(", True),
        ("[", "[", True),
        ("überweisen", "überweisen", True),
        ("u\u0308ber", "\u00fcber", False),
        ("💶*", "💶-out", True),
        ("*", "", True),
        ("*a" * 50, "a" * 5000, True),
        ("*a" * 50, "a" * 49, False),
    ],
)
def test_names_are_globs(glob: str, name: str, matches: bool) -> None:
    assert (denied(ToolPolicy([{"deny": [glob]}]), name) is not None) is (matches or not name)


def test_a_tool_whose_name_is_not_known_counts_as_denied() -> None:
    assert denied(ToolPolicy([{"deny": ["refund"]}]), "") is not None
    assert denied(ToolPolicy([{"allow": ["r*"]}], default="deny"), "") is not None
    assert denied(ToolPolicy([{"allow": ["*"]}, {"deny": ["refund"]}]), "") is None


def test_rules_for_tenants_users_and_agents() -> None:
    policy = ToolPolicy(
        [
            {"allow": ["*"], "users": ["admin-*"]},
            {"deny": ["refund"], "tenants": ["acme", "acme-*"], "users": ["", "guest"]},
            {"deny": ["close"], "agents": ["helper"]},
        ]
    )

    assert denied(policy, tenant_id="acme-eu", user_id="guest") is not None
    assert denied(policy, tenant_id="acme") is not None  # its user is not known
    assert denied(policy, tenant_id="acme", user_id="ann") is None
    assert denied(policy, tenant_id="other", user_id="guest") is None
    assert denied(policy, tenant_id="acme", user_id="admin-1") is None

    @spanhook.tool
    def close() -> str:
        return "closed"

    with recorder(Hooks(policy)):
        assert spanhook.agent("desk")(close)() == "closed"
        with pytest.raises(Reject, match="The tool 'close' is not allowed here"):
            spanhook.agent("helper")(close)()


def test_conditions_on_arguments() -> None:
    policy = ToolPolicy([{**REFUNDS, "status_code": 402}])

    assert denied(policy, arguments={"amount": 50}) is None
    assert denied(policy, "other", {"amount": 60}) is None
    reject = denied(policy, arguments={"amount": 60})
    assert reject is not None
    assert (reject.reason, reject.status_code) == ("Refunds over 50 need a person", 402)


def test_rules_as_objects() -> None:
    assert denied(ToolPolicy(iter([Rule(deny=["refund"])]))) is not None


# ----------------------------------------------------------------------- conditions that cannot be evaluated


CYCLE: list[Any] = []
CYCLE.append(CYCLE)

ODD: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({}, "it reads 'amount', which is not there"),
    "text": ({"amount": "60"}, "it compares or combines values of types that do not go together"),
    "null": ({"amount": None}, "it compares or combines values of types that do not go together"),
    "not a number": ({"amount": float("nan")}, "it reads NaN, which is neither more nor less than any number"),
    "list": ({"amount": [60]}, "it compares or combines values of types"),
    "bytes": ({"amount": b"60"}, "it compares or combines values of types"),
    "datetime": ({"amount": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}, "it compares or combines values of types"),
    "object": ({"amount": object()}, "it reads a value of type object, for which CEL has no type"),
    "cycle": ({"amount": CYCLE}, "it reads data that is nested more than 32 deep"),
}


@pytest.mark.every_value
@pytest.mark.parametrize("name", ODD)
def test_a_condition_that_errors_makes_deny_apply(name: str) -> None:
    arguments, why = ODD[name]
    reject = denied(ToolPolicy([{"allow": ["search"]}, REFUNDS]), arguments=arguments)
    assert reject is not None
    assert f"Refunds over 50 need a person (rule 2 cannot be checked: {why}" in reject.reason


@pytest.mark.parametrize("name", ODD)
def test_a_condition_that_errors_makes_allow_not_apply(name: str) -> None:
    arguments, why = ODD[name]
    policy = ToolPolicy([{"allow": ["refund"], "when": "arguments.amount <= 50"}], default="deny")
    reject = denied(policy, arguments=arguments)
    assert reject is not None
    assert f"The tool 'refund' is not allowed here (rule 1 cannot be checked: {why}" in reject.reason
    assert denied(policy, arguments={"amount": 50}) is None


def test_an_allowing_rule_that_was_left_out_is_named_by_whatever_denies_then() -> None:
    policy = ToolPolicy([{"allow": ["refund"], "when": "arguments.amount <= 50"}, {"deny": ["refund"], "reason": "No"}])
    reject = denied(policy)
    assert reject is not None
    assert reject.reason == "No (rule 1 cannot be checked: it reads 'amount', which is not there)"


def test_a_condition_that_is_not_boolean() -> None:
    reject = denied(ToolPolicy([{"deny": ["refund"], "when": "arguments.amount"}]), arguments={"amount": 0})
    assert reject is not None
    assert "it gives a value of type int, expected true or false" in reject.reason


def test_huge_numbers_are_compared() -> None:
    policy = ToolPolicy([REFUNDS])
    for amount in (2**63, 2**64, 10**300, 50.000001, float("inf")):
        assert denied(policy, arguments={"amount": amount}) is not None, amount
    reject = denied(policy, arguments={"amount": 10**400})  # more than a number of CEL can be
    assert reject is not None
    assert "cannot be evaluated" in reject.reason


# ------------------------------------------------------------------------------------- however it is called


class Bank:
    """Tools that note what they were called with."""

    def __init__(self) -> None:
        self.paid: list[Any] = []

        @tool
        def refund(amount: int) -> str:
            """Pay money back."""
            self.paid.append(amount)
            return f"{amount} paid"

        @tool
        async def arefund(amount: int) -> str:
            """Pay money back."""
            self.paid.append(amount)
            return f"{amount} paid"

        self.refund, self.arefund = refund, arefund
        arefund.name = "refund"


def call(amount: Any, number: int = 1) -> Any:
    return {"type": "tool_call", "id": f"call_{number}", "name": "refund", "args": {"amount": amount}}


WAYS: dict[str, Callable[[Bank, Any], Any]] = {
    "invoke": lambda bank, given: bank.refund.invoke(given),
    "ainvoke": lambda bank, given: asyncio.run(bank.arefund.ainvoke(given)),
    "batch": lambda bank, given: bank.refund.batch([given])[0],
    "abatch": lambda bank, given: asyncio.run(bank.arefund.abatch([given]))[0],
    "stream": lambda bank, given: next(iter(bank.refund.stream(given))),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_model_reads_the_reason(way: str) -> None:
    bank = Bank()
    with recorder(Hooks(ToolPolicy([REFUNDS]))):
        result = WAYS[way](bank, call(60))
        allowed = WAYS[way](bank, call(40))
    assert isinstance(result, ToolMessage)
    assert (result.content, result.status) == ("Tool call rejected: Refunds over 50 need a person", "error")
    assert allowed.content == "40 paid"
    assert bank.paid == [40]


@pytest.mark.parametrize("streamed", [False, True], ids=["invoke", "stream"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_an_agent_that_calls_tools_in_parallel(streamed: bool, is_async: bool) -> None:
    bank = Bank()
    turns: list[Any] = [[("refund", {"amount": amount}) for amount in (60, 40, 70, 10)], "done"]
    agent = create(Turns(turns=turns, asked=[]), tools=[bank.arefund if is_async else bank.refund], name="desk")
    given = {"messages": [("user", "refunds please")]}

    async def arun() -> Any:
        if streamed:
            return [state async for state in agent.astream(given, stream_mode="values")][-1]
        return await agent.ainvoke(given)

    policy = ToolPolicy([{"allow": ["refund"], "agents": ["desk"], "when": "arguments.amount <= 50"}], default="deny")
    with recorder(Hooks(policy)) as seen:
        if is_async:
            state = asyncio.run(arun())
        else:
            state = list(agent.stream(given, stream_mode="values"))[-1] if streamed else agent.invoke(given)
    told = [message.content for message in state["messages"] if isinstance(message, ToolMessage)]
    refusal = "Tool call rejected: The tool 'refund' is not allowed here"
    assert told == [refusal, "40 paid", refusal, "10 paid"]
    assert sorted(bank.paid) == [10, 40]
    tools = [op.status for op in seen.operations if op.kind == "tool.execute"]
    assert sorted(tools) == ["rejected", "rejected", "success", "success"]


@pytest.mark.parametrize("priority", [10, 90], ids=["before it", "after it"])
def test_arguments_that_another_hook_rewrites_are_what_is_judged(priority: int) -> None:
    hooks = Hooks(ToolPolicy([REFUNDS]))

    @hooks.before("tool.execute", priority=priority)
    def double(op: Operation) -> None:
        op.replace(arguments={"amount": op.request.arguments["amount"] * 2})

    bank = Bank()
    with recorder(hooks):
        assert bank.refund.invoke(call(30)).status == "error"
        assert bank.refund.invoke(call(20)).content == "40 paid"
    assert bank.paid == [40]


def test_many_threads_share_one_policy() -> None:
    policy, wrong = ToolPolicy([REFUNDS, {"deny": ["x*"]}]), list[Any]()

    def work(start: int) -> None:
        for amount in range(start, 100, 8):
            name = "refund" if amount % 2 else f"y{amount}"
            try:
                with operation("tool.execute", name, request={"arguments": {"amount": amount}}):
                    passed = True
            except Reject:
                passed = False
            if passed != (name != "refund" or amount <= 50):
                wrong.append(amount)

    with recorder(Hooks(policy)):
        threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert wrong == []


def test_in_shadow_mode_it_only_says_what_it_would_have_done() -> None:
    policy = make(find("tool_policy"), {"rules": [REFUNDS]}, mode="shadow")
    hooks, bank = Hooks(policy), Bank()
    with recorder(hooks) as seen:
        assert bank.refund.invoke(call(60)).content == "60 paid"
        assert hooks.flush()
    assert bank.paid == [60]
    ((decision,),) = [op.shadow_decisions for op in seen.operations]
    assert (decision.decision, decision.mode, decision.reason) == ("reject", "shadow", "Refunds over 50 need a person")


def test_other_kinds_pass() -> None:
    with recorder(Hooks(ToolPolicy(default="deny"))), operation("llm.call", "my-model", provider="acme"):
        pass


# ------------------------------------------------------------------------------------------ how it is made


def test_by_its_short_name_and_settings() -> None:
    hook = make(find("tool_policy"), {"default": "allow", "rules": [REFUNDS]}, name="payments", timeout=1.0)

    (bound,) = Hooks(hook).bound
    assert isinstance(hook, ToolPolicy)
    assert (bound.name, bound.kinds, bound.priority, bound.closed) == ("payments", {"tool.execute"}, 50, True)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "it would allow everything; write default: deny, or a rule that denies"),
    "only allows": ({"rules": [{"allow": ["a"]}]}, "it would allow everything"),
    "default": ({"default": "maybe"}, "default='maybe': expected 'allow' or 'deny'"),
    "neither": ({"rules": [{"when": "true"}]}, "rules.0={'when': 'true'}: a rule has either 'allow' or 'deny'"),
    "both": ({"rules": [{"allow": ["a"], "deny": ["b"]}]}, "a rule has either 'allow' or 'deny'"),
    "no list": ({"rules": [{"deny": "refund"}]}, "rules.0.deny='refund': expected a list, such as [a, b]"),
    "no name": ({"rules": [{"deny": [False]}]}, "rules.0.deny.0=False: expected text"),
    "empty name": ({"rules": [{"deny": [""]}]}, "rules.0.deny.0='': String should have at least 1 character"),
    "no names": ({"rules": [{"deny": []}]}, "rules.0.deny=[]: List should have at least 1 item"),
    "unknown": ({"rules": [{"deny": ["a"], "tenant": ["b"]}]}, "unknown setting rules.0.tenant=['b']"),
    "condition": (
        {"rules": [{"deny": ["a"], "when": "1 +"}]},
        "rules.0.when='1 +': is not valid CEL: line 1, column",
    ),
    "root": (
        {"rules": [{"deny": ["a"], "when": "args.x"}]},
        "rules.0.when='args.x': unknown name 'args' (did you mean 'arguments'?)",
    ),
    "status": ({"rules": [{"deny": ["a"], "status_code": 200}]}, "rules.0.status_code=200: expected greater"),
    "reason": ({"default": "deny", "rules": [{"allow": ["a"], "reason": "x"}]}, "are for rules that deny"),
}


@pytest.mark.every_value
@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_named(name: str) -> None:
    config, expected = BAD[name]
    with pytest.raises(ConfigurationError) as caught:
        make(ToolPolicy, config)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        ToolPolicy(**config)
    assert expected in str(caught.value)


def test_without_pydantic_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    package = sys.modules.pop("spanhook.hooks")
    monkeypatch.setitem(sys.modules, "pydantic", None)
    try:
        with pytest.raises(ImportError, match=r'ready-made hooks need pydantic; pip install "spanhook\[policies\]"'):
            importlib.import_module("spanhook.hooks")
    finally:
        sys.modules["spanhook.hooks"] = package


def test_an_amount_that_is_not_a_number_is_denied() -> None:
    assert denied(ToolPolicy([REFUNDS]), arguments={"amount": float("nan")}) is not None


# ------------------------------------------------------------------------------------- tools of several names


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("rule", "is_denied"),
    [
        ({"deny": ["Delete Account"]}, True),
        ({"deny": ["Delete*"]}, True),
        ({"deny": ["delete_account"]}, True),
        ({"deny": ["Delete"]}, False),
        ({"deny": ["*"], "when": "name == 'Delete Account'"}, True),
        ({"deny": ["*"], "when": "'delete_account' == name"}, True),
        ({"deny": ["*"], "when": "name != 'Delete Account'"}, False),
        ({"deny": ["*"], "when": "name in ['refund', 'Delete Account']"}, True),
        ({"deny": ["*"], "when": "name.startsWith('delete') && 'Delete Account' in names"}, True),
        ({"deny": ["*"], "when": "arguments.of == 'Delete Account' && name == 'delete_account'"}, True),
    ],
)
def test_rules_and_conditions_know_a_tool_by_each_of_its_names(rule: dict[str, Any], is_denied: bool) -> None:
    def delete_account(of: str) -> str:
        return of

    known = Adapter(
        kind="tool.execute",
        layer="crew",
        start=lambda *_: {semconv.GEN_AI_TOOL_NAME: "delete_account"},
        reading=Reading(
            names=lambda *_: frozenset(("delete_account", "Delete Account")),
            request=lambda _instance, _args, kwargs: Request(arguments=dict(kwargs)),
        ),
    )
    hooks = Hooks(ToolPolicy([{"allow": ["other"], "when": "name == 'x'"}, rule]))
    with recorder(hooks) as seen:
        if is_denied:
            with pytest.raises(Reject):
                call_by(known, delete_account, None, (), {"of": "Delete Account"})
        else:
            assert call_by(known, delete_account, None, (), {"of": "Delete Account"}) == "Delete Account"
    (recorded,) = seen.spans
    assert recorded.attributes is not None
    assert recorded.attributes[semconv.NAMES] == ("delete_account", "Delete Account")


def test_it_remarks_on_rules_that_have_matched_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = ToolPolicy([{"deny": ["refund"]}, {"deny": ["reefund", "pay*"]}, {"allow": ["search"]}])
    assert denied(policy, "refund") is not None
    assert denied(policy, "search") is None
    assert [*policy._remarks()] == []

    monkeypatch.setattr("spanhook.hooks.tool_policy.LONG_S", -1.0)
    (remark,) = policy._remarks()
    assert remark == "rule 2, which denies 'reefund', 'pay*', has matched no name in 2 tool calls"
    assert denied(policy, "pay_back") is not None
    assert [*policy._remarks()] == []
    assert [*ToolPolicy([{"deny": ["refund"]}])._remarks()] == []  # no tool was called


def test_it_remarks_after_many_calls() -> None:
    policy = ToolPolicy([{"deny": ["reefund"]}])
    assert denied(policy, "refund") is None
    for _ in range(MANY_CALLS - 2):
        policy._rules_for(("refund",))
    assert [*policy._remarks()] == []
    assert denied(policy, "refund") is None
    assert [*policy._remarks()] == ["rule 1, which denies 'reefund', has matched no name in 1,000 tool calls"]
