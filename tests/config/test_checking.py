"""What a configuration file asks for: hooks of its policies, its settings, and every mistake with its line and key."""

import pickle
import re
import textwrap
from pathlib import Path

import pytest

import spanhook
from spanhook import ConfigurationError, Hooks, Reject, Settings
from spanhook.config import load_file, load_own, read_file
from spanhook.errors import ConfigurationFileError
from spanhook.gating import named
from spanhook.model import ALIASES
from spanhook.settings import CONTENT_VARIABLE
from spanhook.testing import recorder
from tests.config.conftest import Write
from tests.rules import Deny, Watch

FULL = """
    version: 1
    mode: shadow
    hooks: {path: ./hooks.py:hooks}
    settings: {steps: true, chain_timeout_ms: 250, allow: [groq]}
    policies:
      - use: deny
        id: payments
        mode: shadow
        priority: 7
        fail_mode: open
        timeout: 0.5
        events: [tool.execute.pre]
        tools: [refund]
        models: [gpt-5]
        agents: [desk]
        tenant_id: acme
        with: {rules: [{tools: [refund], reason: no money}]}
      - use: watch
        id: watch.all
"""

HOOKS = "import spanhook\nhooks = spanhook.Hooks()\n@hooks.before()\ndef mine(op): ...\n"


def mistakes(path: str) -> list[str]:
    with pytest.raises(ConfigurationFileError) as caught:
        load_file(path)
    assert "\n" not in str(caught.value)
    return [str(one) for one in caught.value.mistakes]


def test_policies_become_hooks_with_all_that_stands_beside_them(write: Write) -> None:
    write(HOOKS, "hooks.py")
    file = load_file(write(FULL))

    payments, watch = (built.hook for built in file.policies)
    assert isinstance(payments, Deny)
    assert isinstance(watch, Watch)
    assert [(rule.tools, rule.reason) for rule in payments.rules] == [(["refund"], "no money")]
    first, *rest = file.registry().bound
    assert (first.name, first.mode, first.priority, first.fail_mode) == ("payments", "shadow", 7, "open")
    assert (first.timeout_ns, first.kinds, first.names) == (500_000_000, {"tool.execute"}, {"refund"})
    assert (first.models, first.agents, first.tenant_id) == ({"gpt-5"}, {"desk"}, "acme")
    assert [one.name for one in rest] == ["watch.all"] * 2


def test_one_run_names_every_mistake_of_a_policy_and_of_the_file(write: Write) -> None:
    path = write("""
        version: 2
        hooks: {path: ./missing.py:hooks}
        policies:
          - use: pii_redaction
            id: a
            when: user == 'x'
            tools: ["a*"]
            with:
              entities: [EMAILS]
              patterns: {B: "("}
              stream: windows
          - use: pii
            id: a
            when: arguments.x >
            events: [tools.execute]
    """)
    lines = [int(one.split(":")[1]) for one in mistakes(path)]
    assert lines == [1, 2, 6, 7, 9, 10, 11, 12, 13, 14, 15]


def test_a_text_where_keys_are_expected_is_shown_with_its_key(write: Write) -> None:
    assert mistakes(write("hooks: ./hooks.py:hooks")) == [
        "spanhook.yaml:1: hooks: './hooks.py:hooks': expected keys and values; write hooks: {path: ./hooks.py:hooks}"
    ]


def test_keys_that_are_expected_are_shown_with_an_example(write: Write) -> None:
    example = 'bind: {tools: ["my.agent:Shell.execute"]}'
    assert mistakes(write("bind: [my.agent:search]\nsettings: []\n")) == [
        f"spanhook.yaml:1: bind: ['my.agent:search']: expected keys and values, such as {example}",
        "spanhook.yaml:2: settings: []: expected keys and values, such as settings: {steps: ...}",
    ]


def test_a_value_is_quoted_once(write: Write) -> None:
    text = "policies:\n  - {use: budget, id: a, with: {usd: 1, per: tenant, window: day, time_zone: Mars}}\n"
    (wrong,) = mistakes(write(text))
    assert "with.time_zone: 'Mars' is not a known time zone; write one like" in wrong


def test_settings_stand_under_those_that_are_given(write: Write) -> None:
    write(HOOKS, "hooks.py")
    file = read_file(write(FULL))

    assert file.settings({}) == Settings(mode="shadow", steps=True, chain_timeout_ms=250, allow=["groq"])
    assert file.settings({"mode": "off", "steps": False}) == Settings(mode="off", chain_timeout_ms=250, allow=["groq"])


def test_the_conventions_variable_stands_over_content(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    file = read_file(write("settings: {content: SPAN_ONLY}"))
    assert file.settings({}).captured() == "SPAN_ONLY"

    monkeypatch.setenv(CONTENT_VARIABLE, "EVENT_ONLY")
    assert file.settings({}).captured() == "EVENT_ONLY"


def test_a_policy_refuses_a_tool(write: Write) -> None:
    file = load_file(write("policies: [{use: deny, id: no, with: {rules: [{tools: [refund], reason: not today}]}}]"))
    spanhook.instrument(file.registry(), only=())

    @spanhook.tool
    def refund() -> str:
        return "paid"

    with pytest.raises(Reject, match="not today") as caught:
        refund()
    assert caught.value.status_code == 402


def test_hooks_in_python_are_found_from_the_folder_of_the_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(HOOKS, "hooks_of_file.py")
    path = write("hooks: {path: ./hooks_of_file.py:hooks}")
    monkeypatch.chdir("/")

    (hooks,) = load_own(load_file(path)).registries

    assert [hook.name for hook in hooks] == ["mine"]


def test_a_lone_hook_is_taken_too(write: Write) -> None:
    write("import spanhook\nclass A(spanhook.Hook):\n    def before(self, op): ...\nhook = A()\n", "lone_hook.py")

    (hooks,) = load_own(load_file(write("hooks: {path: lone_hook.py:hook}"))).registries

    assert isinstance(hooks, Hooks)
    assert [type(hook).__name__ for hook in hooks] == ["A"]


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1\nhooks: {path: nope.py:hooks}", "spanhook.yaml:2: hooks.path: '"),
        ("hooks:\n  path: ./raising.py:hooks", "spanhook.yaml:2: hooks.path: "),
        (
            "hooks:\n  path: no.such.module:hooks",
            "spanhook.yaml:2: hooks.path: 'no.such.module:hooks': the module 'no' does not exist",
        ),
        ("hooks:\n  path: nonsense", "spanhook.yaml:2: hooks.path: 'nonsense': expected path/to/hooks.py:hooks"),
        ("hooks:\n  path: m_hooks.py:hooks\n  timeout: 3", "spanhook.yaml:3: hooks.timeout: 3"),
    ],
)
def test_hooks_that_cannot_be_loaded_say_where_they_are_named(write: Write, text: str, message: str) -> None:
    write("1 / 0", "raising.py")
    write(HOOKS, "m_hooks.py")
    with pytest.raises(ConfigurationFileError) as caught:
        load_own(load_file(write(text)))
    assert str(caught.value).startswith(message)


WRONG = """
    version: 2
    mode: of
    hook: {path: ./hooks.py:hooks}
    settings:
      stepz: true
      steps: 1
      chain_timeout_ms: 0
      max_per_event: lots
      content: ALL
      allow: groq
    stores: {default: "mysql:///x.db"}
    control_plane: {url: "http://control.example", public_key: abc}
    policies:
      - use: dney
        id: a
      - use: deny
        id: b
        with:
          rules:
            - tools: []
            - tools: [refund]
              raeson: x
          wrong: 1
      - use: deny
        id: b
        with: {rules: [{tools: [x]}]}
      - use: watch
        id: c
        evnts: [tool.execute]
      - use: watch
        id: d
        events: [tool.execute.pre, tool.exec]
      - use: deny
        id: e
        events: [llm.call]
        tools: [search*]
        priority: 2000
      - use: watch
        id: "f g"
        timeout: -1
      - use: broken
        id: h
      - watch
      - use: watch
        id: i
        with: {x: 1}
      - id: j
      - use: deny
        id: k
        events: [llm.call, tool.execute.post]
        tools: ["search*"]
        with: {rules: [{tools: [x]}]}
"""


TOLD = """
    spanhook.yaml:1: version: 2: expected 1
    spanhook.yaml:2: mode: 'of': expected 'enforce', 'shadow' or 'off'
    spanhook.yaml:3: hook: unknown key; did you mean 'hooks'?
    spanhook.yaml:5: settings.stepz: unknown key; did you mean 'steps'?
    spanhook.yaml:6: settings.steps: 1: expected true or false
    spanhook.yaml:7: settings.chain_timeout_ms: 0: expected a number greater than 0
    spanhook.yaml:8: settings.max_per_event: 'lots': expected a whole number
    spanhook.yaml:9: settings.content: 'ALL': expected 'NO_CONTENT', 'SPAN_ONLY', 'EVENT_ONLY' or 'SPAN_AND_EVENT'
    spanhook.yaml:10: settings.allow: 'groq': expected a list, such as [a, b]
    spanhook.yaml:11: stores.default: 'mysql:///x.db': expected memory://, sqlite:///FILE or redis://HOST:PORT/NUMBER, or {{url_env: NAME}} for a variable that has it
    spanhook.yaml:12: control_plane.url: 'http://control.example': expected https://HOST, or http:// on this machine, without user, query and fragment
    spanhook.yaml:12: control_plane.public_key: 'abc': expected a public key of Ed25519: 32 bytes in Base64
    spanhook.yaml:14: policies[0].use: there is no hook 'dney' (did you mean 'deny'?); expected one of {hooks}
    spanhook.yaml:20: policies[1].with.rules[0].tools: []: expected at least 1 item after validation, not 0
    spanhook.yaml:23: policies[1].with.wrong: unknown key; remove it, or use one of rules
    spanhook.yaml:25: policies[2].id: the policy in line 17 is 'b' too; ids must be unique
    spanhook.yaml:29: policies[3].evnts: unknown key; did you mean 'events'?
    spanhook.yaml:32: policies[4].events[0]: watch runs at .pre and .post and cannot be limited to .pre; write 'tool.execute'
    spanhook.yaml:32: policies[4].events[1]: unknown event 'tool.exec' (did you mean 'tool.execute'?); expected '*', a kind, a kind with .pre, .post or .error, or one of {aliases}
    spanhook.yaml:33: policies[5].with.rules: missing; add rules: ...
    spanhook.yaml:35: policies[5].events[0]: deny runs on tool.execute only, not on llm.call; remove it
    spanhook.yaml:36: policies[5].tools[0]: 'search*' looks like a pattern, but names must match exactly; list them, or use when
    spanhook.yaml:36: policies[5].tools: tools needs events of tool.execute only
    spanhook.yaml:37: policies[5].priority: 2000: expected a number less than or equal to 1000
    spanhook.yaml:39: policies[6].id: 'f g': expected up to 100 letters, digits and any of _ . : / -, and no other character
    spanhook.yaml:40: policies[6].timeout: -1: expected a number greater than 0
    spanhook.yaml:41: policies[7].with: hook 'Broken' cannot be made: no such socket
    spanhook.yaml:43: policies[8]: 'watch': expected keys and values, such as {{use: ...}}
    spanhook.yaml:46: policies[9].with: hook 'Watch' takes no settings, but was given 'x'
    spanhook.yaml:47: policies[10].use: missing; add use: ...
    spanhook.yaml:50: policies[11].events[0]: deny runs on tool.execute only, not on llm.call; remove it
    spanhook.yaml:50: policies[11].events[1]: deny runs at .pre and cannot be limited to .post; write 'tool.execute'
    spanhook.yaml:51: policies[11].tools[0]: 'search*' looks like a pattern, but names must match exactly; list them, or use when
    spanhook.yaml:51: policies[11].tools: tools needs events of tool.execute only
"""  # noqa: E501


def test_every_mistake_is_named_with_its_line_and_key(write: Write) -> None:
    told = textwrap.dedent(TOLD).strip().format(hooks=", ".join(sorted(named())), aliases=", ".join(ALIASES))
    assert mistakes(write(WRONG)) == told.splitlines()


@pytest.mark.parametrize(
    ("when", "told"),
    [
        ("arguments.amount >", "spanhook.yaml:5: policies[0].when: "),
        ("argumets.amount > 5", "spanhook.yaml:5: policies[0].when: "),
    ],
)
def test_a_condition_that_cannot_be_compiled(write: Write, when: str, told: str) -> None:
    (line,) = mistakes(write(f"version: 1\npolicies:\n  - use: watch\n    id: a\n    when: {when!r}\n"))

    assert line.startswith(told)


def test_a_condition_is_asked_of_each_operation(write: Write) -> None:
    text = "policies: [{use: deny, id: a, when: 'arguments.amount > 50', with: {rules: [{tools: [refund]}]}}]"
    spanhook.instrument(load_file(write(text)).registry(), only=())

    @spanhook.tool
    def refund(amount: int) -> str:
        return f"paid {amount}"

    assert refund(50) == "paid 50"
    with pytest.raises(Reject):
        refund(51)
    with pytest.raises(Reject):
        refund("much")  # pyright: ignore[reportArgumentType] - a condition that fails counts against the call


def test_one_line_says_the_first_and_how_many_there_are(write: Write) -> None:
    with pytest.raises(ConfigurationFileError) as caught:
        load_file(write("version: 1\nmode: of\npolises: []\n"))

    assert str(caught.value) == (
        "spanhook.yaml:2: mode: 'of': expected 'enforce', 'shadow' or 'off' "
        "(and 1 more: spanhook config check spanhook.yaml)"
    )


@pytest.mark.parametrize("name", ["default_timeout_ms", "chain_timeout_ms", "max_per_event", "fail_open_default"])
def test_settings_may_have_the_prefix_hooks(write: Write, name: str) -> None:
    value = {"fail_open_default": False}.get(name, 7)

    file = load_file(write(f"settings: {{hooks_{name}: {str(value).lower()}}}"))

    assert getattr(file.settings({}), name) == value


def test_short_names_of_events_are_for_subscriptions(write: Write) -> None:
    (line,) = mistakes(write("policies: [{use: watch, id: a, events: ['job:cancelled']}]"))

    assert line == (
        "spanhook.yaml:1: policies[0].events[0]: 'job:cancelled' is a short name, which only subscriptions take; "
        "write 'job'"
    )


def test_a_hook_that_exits_is_a_mistake_too(write: Write) -> None:
    (line,) = mistakes(write("policies: [{use: exits, id: a}]"))

    assert line == "spanhook.yaml:1: policies[0].with: it exits when it is imported or created: SystemExit(0)"


def test_mistakes_go_through_pickling(write: Write) -> None:
    with pytest.raises(ConfigurationFileError) as caught:
        load_file(write("mode: of"))

    twin = pickle.loads(pickle.dumps(caught.value))
    assert (str(twin), twin.mistakes) == (str(caught.value), caught.value.mistakes)


def test_nothing_is_written_twice_under_two_names(write: Write) -> None:
    assert mistakes(write("settings: {max_per_event: 7, hooks_max_per_event: 8}"))


def test_a_policy_that_is_as_it_was_keeps_its_hook(write: Write) -> None:
    one, other = ("- {{use: deny, id: {}, with: {{rules: [{{tools: [{}]}}]}}}}".format(*two) for two in ("ax", "bx"))
    before = load_file(write(f"policies:\n{one}\n{other}"))
    after = load_file(write(f"policies:\n{other.replace('[x]', '[y]')}\n{one}"), before.policies)

    assert after.policies[1].hook is before.policies[0].hook
    assert after.policies[0].hook is not before.policies[1].hook


@pytest.mark.parametrize(("now", "same"), [("{b: 1, a: [x]}", True), ("{a: [x], b: true}", False)])
def test_what_counts_as_a_change(write: Write, now: str, same: bool) -> None:
    text = "policies: [{{use: deny, id: a, with: {{rules: [{{tools: [x], reason: r, extra: {}}}]}}}}]"
    before = load_file(write(text.format("{a: [x], b: 1}")))
    after = load_file(write(text.format(now)), before.policies)

    assert (after.policies[0].hook is before.policies[0].hook) == same


def test_pydantic_and_yaml_are_not_imported_without_a_file() -> None:
    import subprocess
    import sys

    code = "import sys, spanhook, spanhook.bootstrap; print({'yaml', 'pydantic', 'tomllib'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def test_a_reload_that_names_too_many_hooks_says_so(write: Write) -> None:
    policies = "".join(f"  - {{use: watch, id: w{n}}}\n" for n in range(21))
    with pytest.raises(ConfigurationError, match="at most 20 are allowed"):
        spanhook.instrument(load_file(write(f"policies:\n{policies}")).registry(), only=())


ROOT = Path(__file__).parents[2]


def written(document: str) -> list[tuple[str, str]]:
    """The form and the text of each file that a document shows."""
    return re.findall(r"^```(yaml|toml)\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


WRITTEN = written("docs/configuration.md")
README = [one for one in written("README.md") if one[1].startswith("# spanhook.yaml")]


@pytest.mark.parametrize(("form", "text"), [*(one for one in WRITTEN if "entry-points" not in one[1]), *README])
def test_what_the_document_shows_can_be_used(
    write: Write, form: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(HOOKS, "hooks.py")
    write("async def report(given):\n    return given\n", "app.py")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:6379/0")

    file = read_file(write(text, {"yaml": "spanhook.yaml", "toml": "pyproject.toml"}[form]))

    assert [policy.id for policy in file.configuration.policies] == (["payments"] if "polic" in text else [])


def test_the_policy_that_the_document_shows_decides(write: Write) -> None:
    write(HOOKS, "hooks.py")
    (text,) = (text for form, text in WRITTEN if form == "yaml" and "policies" in text)
    spanhook.instrument(load_file(write(text)).registry(), only=())

    @spanhook.tool
    def refund(amount: int) -> str:
        return f"paid {amount}"

    assert refund(50) == "paid 50"
    with pytest.raises(Reject, match="Refunds over 50 need a person") as caught:
        refund(51)
    assert caught.value.status_code == 402
    with spanhook.context(tenant_id="internal"):
        assert refund(51) == "paid 51"


def test_the_policy_that_the_readme_shows_decides_in_shadow_mode(write: Write) -> None:
    ((_, text),) = README

    @spanhook.tool
    def refund(amount: int) -> str:
        return f"paid {amount}"

    hooks = load_file(write(text)).registry()
    with recorder(hooks) as seen:
        assert [refund(50), refund(51)] == ["paid 50", "paid 51"]
    assert [[one.reason for one in op.shadow_decisions] for op in seen.operations] == [
        [],
        ["Refunds over 50 need a person"],
    ]
