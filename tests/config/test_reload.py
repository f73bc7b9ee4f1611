"""Following a configuration file: what changes is taken over whole or not at all, and what stays keeps its state."""

import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Reject
from spanhook.config import OwnHooks, follow, load_file, load_own
from spanhook.config.presence import Presence
from spanhook.config.reload import Follower
from spanhook.engine import registry
from spanhook.telemetry import telemetry
from spanhook.testing import recorder
from tests.config.conftest import Write
from tests.rules import Deny
from tests.standin import BY_NAME, library

ONE = """
version: 1
policies:
  - {use: deny, id: a, with: {rules: [{tools: [refund]}]}}
"""
TWO = ONE + "  - {use: deny, id: b, with: {rules: [{tools: [search]}]}}\n"
OTHER = ONE.replace("refund", "search")


@spanhook.tool
def refund() -> str:
    return "paid"


@spanhook.tool
def search() -> str:
    return "found"


def refused() -> set[str]:
    """The tools that may not run now."""
    found = set[str]()
    for tool in (refund, search):
        try:
            tool()
        except Reject:
            found.add(tool.__name__)
    return found


def following(path: str, **over: Any) -> Follower:
    """A follower of a file that has been put in force; it looks when it is told to."""
    file = load_file(path)
    policies, own = file.registry(), load_own(file)
    spanhook.instrument([*own.registries, policies], settings=file.settings(over), only=())
    own.apply()
    return Follower(file, own, policies, over)


def hook_of(name: str) -> Deny:
    (found,) = (hook for hook in registry.hooks if hook.name == name)
    assert isinstance(found, Deny)
    return found


class Lines(logging.Handler):
    """Keeps what is logged, as it is told to users."""

    def __init__(self) -> None:
        super().__init__()
        self.said = list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@pytest.fixture
def said() -> Iterator[list[str]]:
    lines, logger = Lines(), logging.getLogger("spanhook")
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    yield lines.said
    logger.removeHandler(lines)
    logger.setLevel(level)


def test_what_changes_is_in_force_for_the_next_operation(write: Write, said: list[str]) -> None:
    follower = following(write(ONE))
    assert refused() == {"refund"}

    write(TWO)
    assert follower.reload()
    assert refused() == {"refund", "search"}
    write(OTHER)
    assert follower.reload()
    assert refused() == {"search"}
    applied = "spanhook: spanhook.yaml has changed and is active now"
    less = "policy 'a': 1 of 1 items of rules is gone or changed; policy 'b' is gone"
    assert said == [applied, applied, f"spanhook: spanhook.yaml has changed, and less is enforced now: {less}"]


def test_a_policy_that_did_not_change_keeps_its_hook_and_what_it_counted(write: Write) -> None:
    follower = following(write(ONE))
    refused()
    before = hook_of("a")
    assert before.seen == 2

    write("# moved down\n" + TWO)
    assert follower.reload()
    refused()

    assert hook_of("a") is before
    assert before.seen == 4
    assert hook_of("b").seen == 1  # a's refusal comes first


BAD = {
    "no yaml": ("a: [", "spanhook.yaml:1: is not valid YAML"),
    "empty": ("", "spanhook.yaml:1: is empty"),
    "unknown key": ("polices: []", "spanhook.yaml:1: polices: unknown key; did you mean 'policies'?"),
    "one bad policy of two": (ONE + "  - {use: dney, id: b}", "policies[1].use: there is no hook 'dney'"),
    "no such hooks": (ONE + "hooks: {path: nope.py:hooks}", "hooks.path: "),
    "too many": (
        "version: 1\npolicies:\n" + "".join(f"  - {{use: watch, id: w{n}}}\n" for n in range(21)),
        "at most 20 are allowed",
    ),
    "a mode": ("mode: of", "spanhook.yaml:1: mode: 'of'"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_keeps_what_was_in_force_and_is_told_once(write: Write, said: list[str], case: str) -> None:
    follower = following(write(ONE))
    kept, plans = registry.hooks, registry.plans
    text, message = BAD[case]

    write(text)
    assert not follower.reload()
    assert not follower.reload()

    assert refused() == {"refund"}
    assert registry.hooks == kept
    assert registry.plans is plans or registry.plans.keys() == plans.keys()
    (line,) = said
    assert message in line
    assert line.startswith("spanhook: ")
    assert line.endswith("; the previous configuration stays active")
    assert "\n" not in line

    write(ONE)
    assert not follower.reload()  # nothing else is in force than before
    write(OTHER)
    assert follower.reload()
    assert refused() == {"search"}


def test_a_file_that_may_have_been_cut_short_is_reported_once_for_each_content(write: Write, said: list[str]) -> None:
    file = load_file(write(TWO))
    policies = file.registry()
    with recorder(policies, only=()) as seen:
        follower = Follower(file, OwnHooks(), policies, {})
        for cut in (ONE, ONE, ONE.rstrip(), TWO, ONE):
            write(cut)
            assert not follower.reload()
        assert refused() == {"refund", "search"}
        events = [one["attributes"] for one in seen.events if one["name"] == "spanhook.configuration"]
        counted = seen.metrics()["spanhook.config.refused"]

    why = "spanhook.yaml may have been cut short: it is the beginning of the active one. If it is whole, end it with"
    assert [line.startswith(f"spanhook: {why}") for line in said] == [True] * 3
    assert (
        events
        == [
            {
                "spanhook.config.outcome": "refused",
                "spanhook.config.source": "file",
                "spanhook.config.name": "spanhook.yaml",
                "spanhook.config.reason": "incomplete",
                "spanhook.config.message": f"{why} the line ...",
            }
        ]
        * 3
    )
    assert counted == [({"spanhook.config.name": "spanhook.yaml", "spanhook.config.reason": "incomplete"}, 3)]


def test_mistakes_are_counted_and_their_values_stay_in_the_log(write: Write, said: list[str]) -> None:
    file = load_file(write(ONE))
    policies = file.registry()
    with recorder(policies, only=()) as seen:
        follower = Follower(file, OwnHooks(), policies, {})
        write(ONE + "stores: {default: 'http://user:secret@host'}\n")
        assert not follower.reload()
        (event,) = seen.events
        counted = seen.metrics()["spanhook.config.refused"]

    assert len(said) == 1
    assert "stores.default" in said[0]
    assert event["attributes"] == {
        "spanhook.config.outcome": "refused",
        "spanhook.config.source": "file",
        "spanhook.config.name": "spanhook.yaml",
        "spanhook.config.reason": "invalid",
    }
    assert counted == [({"spanhook.config.name": "spanhook.yaml", "spanhook.config.reason": "invalid"}, 1)]


def test_a_missing_file_keeps_what_was_in_force(write: Write, said: list[str]) -> None:
    path = write(ONE)
    follower = following(path)

    os.remove(path)
    assert not follower.reload()
    assert refused() == {"refund"}
    (line,) = said
    assert line.startswith(
        "spanhook: the configuration file 'spanhook.yaml' does not exist; correct the path; the previous"
    )

    write(OTHER)
    assert follower.reload()
    assert refused() == {"search"}


def test_a_file_that_is_being_written_is_let_be_until_it_rests(write: Write) -> None:
    follower = following(write(ONE))
    follower.look()

    write(OTHER)
    follower.look()
    assert refused() == {"refund"}
    write(OTHER + "# more\n")
    follower.look()
    assert refused() == {"refund"}
    follower.look()
    assert refused() == {"search"}


def test_a_file_that_is_missing_for_a_moment_is_not_told(write: Write, said: list[str]) -> None:
    path = write(ONE)
    follower = following(path)
    follower.look()
    follower.look()

    os.remove(path)
    follower.look()
    write(ONE)
    follower.look()
    follower.look()

    assert said == []


def test_a_file_behind_a_link_is_followed(write: Write, tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to(write(ONE, "first.yaml"))
    follower = following(str(tmp_path / "link.yaml"))
    follower.look()
    follower.look()

    write(OTHER, "second.yaml")
    (tmp_path / "new.yaml").symlink_to(tmp_path / "second.yaml")
    (tmp_path / "new.yaml").rename(tmp_path / "link.yaml")
    follower.look()
    follower.look()

    assert refused() == {"search"}


def test_settings_change_too_under_those_that_were_given(write: Write) -> None:
    follower = following(write(ONE + "settings: {tenant_metrics: true}\n"), steps=True)
    assert (telemetry.settings.tenant_metrics, telemetry.settings.steps) == (True, True)

    write(ONE + "mode: shadow\nsettings: {steps: false, chain_timeout_ms: 9}\n")
    assert follower.reload()

    settings = telemetry.settings
    assert (settings.mode, settings.tenant_metrics, settings.steps) == ("shadow", False, True)
    assert settings.chain_timeout_ms == 9
    assert refused() == set()

    write(ONE + "mode: enforce\nsettings: {}\n")
    assert follower.reload()
    assert refused() == {"refund"}


def test_settings_that_cannot_hold_change_nothing(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    library(tmp_path / "installed", BY_NAME["dashscope"])
    monkeypatch.delitem(sys.modules, "dashscope", raising=False)
    follower = following(write(ONE))
    spanhook.instrument(settings=telemetry.settings)  # every library that is installed
    importlib.import_module("dashscope")

    write(OTHER + "settings: {strict: true, steps: true}\n")
    assert not follower.reload()
    monkeypatch.delitem(sys.modules, "dashscope")

    assert refused() == {"refund"}
    assert not telemetry.settings.strict
    assert not telemetry.settings.steps
    assert "dashscope 1.2.3" in said[-1]


def test_the_directory_of_definitions_stays_while_the_application_runs(write: Write, said: list[str]) -> None:
    follower = following(write(ONE))

    write(OTHER + "settings: {definitions_dir: elsewhere}\n")
    assert not follower.reload()

    assert refused() == {"refund"}
    assert "settings.definitions_dir: cannot change while the application runs; start it again" in said[-1]


def test_schedules_stay_while_the_application_runs(write: Write, said: list[str]) -> None:
    follower = following(write(ONE))

    write(OTHER + "cron: [{id: news, schedule: '0 9 * * *', agent: 'json:loads'}]\n")
    assert not follower.reload()

    assert refused() == {"refund"}
    assert "cron: cannot change while the application runs; start it again" in said[-1]


def test_more_hooks_are_allowed_by_the_file_that_brings_them(write: Write) -> None:
    follower = following(write(ONE))
    many = "".join(f"  - {{use: watch, id: w{n}}}\n" for n in range(25))

    write(f"version: 1\nsettings: {{max_per_event: 30}}\npolicies:\n{many}")
    assert follower.reload()

    assert len(registry.hooks) == 25


def test_settings_that_the_application_gave_later_stay_while_those_of_the_file_do(write: Write) -> None:
    follower = following(write(ONE))
    spanhook.instrument(settings=spanhook.Settings(steps=True), only=())

    write(TWO)
    assert follower.reload()

    assert telemetry.settings.steps


HOOKS = """
import spanhook
hooks, others = spanhook.Hooks(), spanhook.Hooks()

@hooks.before("tool.execute", names={"refund"})
def one(op):
    raise spanhook.Reject("one")

@others.before("tool.execute", names={"search"})
def other(op):
    raise spanhook.Reject("other")
"""


def test_hooks_in_python_are_exchanged(write: Write) -> None:
    write(HOOKS, "reload_hooks.py")
    follower = following(write("hooks: {path: reload_hooks.py:hooks}"))
    assert refused() == {"refund"}

    write("hooks: {path: reload_hooks.py:others}")
    assert follower.reload()
    assert refused() == {"search"}
    write("version: 1\nhooks: null")
    assert follower.reload()
    assert refused() == set()


def test_hooks_that_were_named_instead_stay(write: Write) -> None:
    write(HOOKS, "reload_named_hooks.py")
    named = Hooks()
    named.before("tool.execute", names={"refund"})(lambda op: (_ for _ in ()).throw(Reject("no")))
    file = load_file(write("hooks: {path: reload_named_hooks.py:hooks}"))
    policies = file.registry()
    spanhook.instrument([named, policies], only=())
    follower = Follower(file, None, policies, {})

    write("hooks: {path: reload_named_hooks.py:others}")
    assert follower.reload()

    assert refused() == {"refund"}


RUN_HOOKS = """
from spanhook.runs import RunHooks
hooks = RunHooks(timeout=3)

@hooks.before_run
async def refuse(ctx):
    raise hooks.RejectRun("not now")
"""


def test_the_timeout_of_run_hooks_changes_with_the_file(write: Write, said: list[str]) -> None:
    write(RUN_HOOKS, "reload_run_hooks.py")
    follower = following(write("hooks: {path: reload_run_hooks.py:hooks, timeout: 5}"))
    with pytest.raises(Reject, match="not now"):
        refund()
    assert limit() == 5e9

    write("hooks: {path: reload_run_hooks.py:hooks, timeout: 7}\npolicies: [{use: dney, id: a}]")
    assert not follower.reload()
    assert limit() == 5e9
    write("hooks: {path: reload_run_hooks.py:hooks, timeout: 7}")
    assert follower.reload()
    assert limit() == 7e9
    write("hooks: {path: reload_run_hooks.py:hooks}")
    assert follower.reload()
    assert limit() == 3e9


def limit() -> int | None:
    """The timeout of the one hook there is, in nanoseconds."""
    (bound,) = (one for source in registry._sources for one in source.bound)
    return bound.timeout_ns


def test_what_stands_beside_the_file_keeps_its_place(write: Write) -> None:
    order = list[str]()
    first, last = Hooks(), Hooks()
    first.before("tool.execute", priority=50)(lambda op: order.append("first"))
    last.before("tool.execute", priority=50)(lambda op: order.append("last"))
    file = load_file(write(ONE.replace("refund", "nothing")))
    policies = file.registry()
    spanhook.instrument([first, policies, last], only=())
    follower = Follower(file, None, policies, {})

    write(ONE)
    assert follower.reload()

    names = [bound.name for bound in registry.plans["tool.execute"].pre]
    assert names == ["<lambda>", "a", "<lambda>"]


def test_operations_under_way_end_with_the_hooks_that_they_began_with(write: Write) -> None:
    follower = following(write("policies: [{use: watch, id: w}]"))
    with spanhook.operation("tool.execute", "refund"):
        write(ONE)
        assert follower.reload()
    assert refused() == {"refund"}


def test_reloading_while_operations_run_leaves_no_gap(write: Write) -> None:
    """With both states refusing the tool, it never runs, whenever the change comes."""
    follower = following(write(ONE))
    ran, errors, done = list[str](), list[BaseException](), threading.Event()

    def call() -> None:
        while not done.is_set():
            try:
                ran.append(refund())
            except Reject:
                pass
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(10):
        write(ONE.replace("id: a", f"id: a{turn % 3}") + f"# {turn}\n")
        assert follower.reload()
    done.set()
    for thread in threads:
        thread.join()

    assert (ran, errors) == ([], [])


def test_once_nothing_is_in_force_any_more_the_file_is_let_be(write: Write) -> None:
    file = load_file(write(ONE))
    policies = file.registry()
    spanhook.instrument(policies, settings=file.settings({}), only=())
    before = set(threading.enumerate())  # followers of other tests may have threads that have yet to end
    follower = follow(file, None, policies, {})
    (thread,) = (one for one in set(threading.enumerate()) - before if one.name == "spanhook-configuration")

    spanhook.uninstrument()
    follower.ask()
    thread.join(30)

    assert not thread.is_alive()
    assert refused() == set()


def test_sighup_reads_the_file_at_once_where_nobody_handles_it(write: Write) -> None:
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    taken = threading.Event()
    file = load_file(write(ONE))
    policies = file.registry()
    spanhook.instrument(policies, settings=file.settings({}), only=())
    registry.changed.append(taken.set)
    follower = follow(file, None, policies, {})
    try:
        write(OTHER)
        signal.raise_signal(signal.SIGHUP)
        assert taken.wait(30)
        assert refused() == {"search"}
    finally:
        registry.changed.remove(taken.set)
        follower.stop()
        signal.signal(signal.SIGHUP, before)


def test_a_file_that_is_followed_later_hears_of_sighup_too(write: Write) -> None:
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    taken = threading.Event()
    file = load_file(write(ONE))
    policies = file.registry()
    spanhook.instrument(policies, settings=file.settings({}), only=())
    follow(file, None, policies, {})
    follower = follow(file, None, policies, {})
    registry.changed.append(taken.set)
    try:
        write(OTHER)
        signal.raise_signal(signal.SIGHUP)
        assert taken.wait(30)
        assert follower.takes_signals
        follower.stop()
        assert not follower.takes_signals
    finally:
        registry.changed.remove(taken.set)
        follower.stop()
        signal.signal(signal.SIGHUP, before)


def test_a_handler_of_somebody_else_stays(write: Write) -> None:
    before = signal.getsignal(signal.SIGHUP)
    heard = list[int]()

    def theirs(number: int, frame: Any) -> None:
        heard.append(number)

    signal.signal(signal.SIGHUP, theirs)
    file = load_file(write(ONE))
    policies = file.registry()
    spanhook.instrument(policies, settings=file.settings({}), only=())
    follower = follow(file, None, policies, {})
    try:
        signal.raise_signal(signal.SIGHUP)
        assert heard == [signal.SIGHUP]
        assert signal.getsignal(signal.SIGHUP) is theirs
    finally:
        follower.stop()
        signal.signal(signal.SIGHUP, before)


def test_hooks_that_another_file_names_too_stay(write: Write) -> None:
    hooks = write(
        "import spanhook\nhooks = spanhook.Hooks()\n@hooks.before('*')\ndef no(op): raise spanhook.Reject('no')"
    )
    os.rename(hooks, "shared_hooks.py")
    path = write(ONE + "hooks: {path: ./shared_hooks.py:hooks}\n...\n")
    file = load_file(path)
    policies, own = file.registry(), load_own(file)
    spanhook.instrument([*own.registries, policies], only=())
    follower = Follower(file, own, policies, {}, own.registries)
    assert refused() == {"refund", "search"}

    write(ONE + "...\n")
    assert follower.reload()

    assert refused() == {"refund", "search"}


def test_a_process_that_is_forked_while_a_follower_is_stopped_can_end(write: Write) -> None:
    follower = following(write(ONE))
    presence = follower._presence = Presence()
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with presence._lock:
            held.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        held.wait(60)
        follower._stopped = True
        follower.renew()  # as in the child, where the thread does not run
        assert presence._lock.acquire(blocking=False)
    finally:
        over.set()
        thread.join()
        presence.end()
