"""What may be subscribed to, and what comes of it: names, kinds, ``"*"`` and its levels."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Event, Hooks, Operation
from spanhook.gating._topics import parse_event
from spanhook.model import ALIASES
from spanhook.testing import recorder


@spanhook.tool
def look_up() -> str:
    with spanhook.operation("llm.call", "judge"):
        pass
    return "found"


@spanhook.agent("desk")
def desk() -> str:
    return look_up()


def run() -> None:
    """A job of one agent that calls one tool that calls one model, on a schedule."""
    with spanhook.operation("cron.execute", "nightly"), spanhook.operation("job", "desk"):
        desk()


def heard_of(event: str, *, registry: Any = None, **settings: Any) -> list[str]:
    """The types of the events that a subscription to ``event`` is told of."""
    hooks = Hooks(**(registry or {}))
    heard: list[str] = []
    hooks.on(event, lambda told: heard.append(told.type), **settings)
    with recorder(hooks):
        run()
        assert hooks.flush()
    return heard


SUMMARY = [
    "cron.execute.pre",
    "job.pre",
    "agent.invoke.pre",
    "agent.invoke.post",
    "job.post",
    "cron.execute.post",
]
TRACE = [
    *SUMMARY[:3],
    "tool.execute.pre",
    "llm.call.pre",
    "llm.call.post",
    "tool.execute.post",
    *SUMMARY[3:],
]


def test_everything_is_agents_jobs_and_schedules_at_the_level_summary() -> None:
    assert heard_of("*") == heard_of("*", level="summary") == SUMMARY
    assert heard_of("*", registry={"level": "trace"}, level="summary") == SUMMARY


def test_everything_is_everything_at_the_level_trace() -> None:
    assert heard_of("*", level="trace") == TRACE
    assert heard_of("*", registry={"level": "trace"}) == TRACE


def test_a_phase_of_everything_has_levels_too() -> None:
    assert heard_of("*.post") == [one for one in SUMMARY if one.endswith(".post")]
    assert heard_of("*.post", level="trace") == [one for one in TRACE if one.endswith(".post")]


@pytest.mark.parametrize("level", ["summary", "trace"])
@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("tool:execute", ["tool.execute.post"]),
        ("model:call", ["llm.call.post"]),
        ("agent:start", ["agent.invoke.pre"]),
        ("job:end", ["job.post"]),
        ("job:cancelled", []),
        ("cron:executed", ["cron.execute.post"]),
        ("tool.execute", ["tool.execute.pre", "tool.execute.post"]),
        ("llm.call.pre", ["llm.call.pre"]),
    ],
)
def test_what_is_asked_for_by_name_is_told_at_every_level(level: str, event: str, told: list[str]) -> None:
    assert heard_of(event, registry={"level": level}) == told
    assert heard_of(event, level=level) == told


@pytest.mark.parametrize("name", ALIASES)
def test_a_short_name_is_the_same_as_the_dotted_one(name: str) -> None:
    alias = ALIASES[name]
    topic = parse_event(name, "summary")
    assert (topic.kinds, topic.phases) == ((alias.kind,), alias.phases)
    if len(alias.phases) == 1 and alias.cancelled is None:
        dotted = parse_event(f"{alias.kind}.{alias.phases[0]}", "summary")
        assert (dotted.kinds, dotted.phases) == (topic.kinds, topic.phases)
        assert heard_of(name) == heard_of(f"{alias.kind}.{alias.phases[0]}")


def test_kinds_of_the_applications_own_are_told_of_at_trace_alone() -> None:
    assert parse_event("*", "summary").kinds == ("agent.invoke", "job", "cron.execute")
    assert parse_event("*", "trace").kinds == ("*",)


MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "misspelt": (lambda h: h.on("agent:ended"), r"unknown event 'agent:ended' \(did you mean 'agent:end'\?\)"),
    "no such": (lambda h: h.on("agent:"), "unknown event 'agent:'"),
    "of none": (lambda h: h.on("step:end"), "or one of agent:start, agent:end, agent:error, job:start"),
    "no text": (lambda h: h.on(7), "unknown event 7"),
    "level": (lambda h: h.on("*", level="debug"), "level='debug', expected 'summary' or 'trace'"),
    "level, named": (lambda h: h.on("job", level="all"), "level='all', expected"),
    "unhashable level": (lambda h: h.on("job", level=[]), r"level=\[\], expected"),
    "as a kind": (lambda h: h.before("agent:end"), r"unknown kind 'agent:end' \(an event; write 'agent.invoke'\)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_where_they_are_made(mistake: str) -> None:
    make, said = MISTAKES[mistake]
    with pytest.raises(ConfigurationError, match=said):
        make(Hooks())(lambda op: None)


def test_a_registry_has_a_level_that_there_is() -> None:
    make: Any = Hooks
    with pytest.raises(ConfigurationError, match="level='loud', expected 'summary' or 'trace'"):
        make(level="loud")


def test_a_subscription_to_everything_is_no_reason_to_warn(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    hooks.on("*", lambda event: None)
    with recorder(hooks):
        pass
    assert "job" not in caplog.text


def test_a_subscription_to_everything_makes_no_operations_of_steps() -> None:
    hooks = Hooks()
    hooks.on("*", lambda event: None)
    with recorder(hooks):
        from spanhook.engine import registry

        assert set(registry.plans) == {"agent.invoke", "job", "cron.execute"}


def test_a_handler_may_end_its_own_subscription_while_it_runs() -> None:
    hooks = Hooks()
    heard: list[str] = []

    def once(event: Event) -> None:
        stop()
        heard.append(event.type)

    stop = hooks.on("job:start", once)
    with recorder(hooks):
        run()
        assert hooks.flush()
        run()
        assert hooks.flush()
    assert heard == ["job.pre"]
    assert len(hooks) == 0


def test_subscriptions_come_and_go_while_operations_run() -> None:
    hooks = Hooks()
    kept: list[str] = []
    hooks.on("agent:end", lambda event: kept.append(event.type))
    done = threading.Event()
    failures: list[BaseException] = []

    def churn(name: str) -> None:
        try:
            while not done.is_set():
                stop = hooks.on(name, lambda event: None, name=threading.current_thread().name)
                stop()
        except BaseException as error:
            failures.append(error)

    with recorder(hooks):
        threads = [threading.Thread(target=churn, args=(name,)) for name in ("*", "tool:execute", "job:end", "*.post")]
        for thread in threads:
            thread.start()
        for _ in range(50):
            run()
        done.set()
        for thread in threads:
            thread.join()
        assert hooks.flush()
    assert not failures
    assert kept == ["agent.invoke.post"] * 50


def test_async_handlers_are_told_by_short_names_too() -> None:
    hooks = Hooks()
    heard: list[str] = []

    @hooks.on("agent:end", timeout=60.0)
    async def told(event: Event) -> None:
        heard.append(event.alias)

    def older(op: Operation) -> None:
        heard.append(op.event)

    hooks.on("agent:start", older)
    with recorder(hooks):
        desk()
        assert hooks.flush()
    assert sorted(heard) == ["agent.invoke.pre", "agent:end"]
