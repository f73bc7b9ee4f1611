"""Shared fixtures: every test starts and ends uninstrumented, and errors of spanhook's own code are errors."""

import functools
import gc
import inspect
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook.concurrency import loops, private_loops, reaper
from spanhook.diagnostics import Repeats, internal
from spanhook.gating import _checking, _decisions
from spanhook.model import current
from spanhook.telemetry import counts
from spanhook.telemetry.counters import Counters
from tests import asleep
from tests.redis_server import RedisProcess, running_redis
from tests.skips import Skips
from tests.thinning import mark_products

# From CPython 3.12 on, threads that run while another is traced by instruction crash the interpreter.
collect_ignore = ["conformance/test_interrupts.py"] if sys.version_info >= (3, 12) else []

TESTS = Path(__file__).parent
MOST_WORKERS = 4


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail if a test is skipped")
    parser.addoption(
        "--may-skip", action="append", default=[], metavar="REASON", help="but not for this reason; it must come up"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # a worker does not see all tests
        config.pluginmanager.register(Skips(config.option.no_skips, config.option.may_skip))


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """The whole default suite runs in as many processes as there are cores, up to ``MOST_WORKERS``.

    All else runs in this process alone: a few tests are done before others have started, those with another ``-m``
    start processes of their own or want the machine to themselves, and what looks at a test or rewrites it must be
    where the test is.
    """
    cores = yield
    asked = config.option
    named = {config.invocation_params.dir / one for one in config.args} - {TESTS, TESTS.parent}
    fewer = named or asked.keyword or asked.markexpr not in config.getini("addopts") or getattr(asked, "lf", False)
    near = asked.collectonly or asked.trace or asked.capture == "no" or getattr(asked, "inline_snapshot", None)
    return 0 if cores == 1 or fewer or near else min(cores, MOST_WORKERS)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Nothing is garbage of what is collected: to look for it, over and over, takes a fourth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them before ``-m`` selects among them."""
    mark_products(items)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """Workers send what was logged as UTF-8, which some tests log what is not."""
    return _encodable((yield))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _encodable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_encodable, value))
    return value


with suppress(ImportError):  # not in every environment
    from hypothesis import HealthCheck, settings

    # A busy machine makes examples slowly. Tests that suppress another check name this one, too: theirs replace these.
    settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("untimed", settings.get_profile("thorough"), max_examples=settings().max_examples // 4)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "untimed"))  # CI asks for the thorough one


@pytest.fixture(scope="session", autouse=True)
def collected() -> Iterator[None]:
    """What tells of itself when collected, such as tasks that nobody waited for, fails the last test at the latest.

    Later a worker would not say so. And Hypothesis, when it is imported in the end, asks the collector who refers to
    something, which must not come upon it: CPython 3.11 cannot parse while it parses.
    """
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # pytest collects once more, and need not look at all of it again


@pytest.fixture(scope="session", autouse=True)
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody: what speaks TLS has certificates of its own. A client would read all of the machine's when it is made.

    That takes longer than all else in making it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("authorities")))
        yield


@pytest.fixture(scope="session", autouse=True)
def versions() -> Iterator[None]:
    """Versions and entry points are looked up once, not six times a test; what is installed may only change with
    ``sys.path``.
    """
    look_up, find = metadata.version, metadata.entry_points

    @functools.cache
    def known(name: str, _path: tuple[str, ...]) -> str:
        return look_up(name)

    @functools.cache
    def found(_path: tuple[str, ...], **wanted: str) -> Any:
        return find(**wanted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "version", lambda name: known(name, tuple(sys.path)))
        patch.setattr(metadata, "entry_points", lambda **wanted: found(tuple(sys.path), **wanted))
        yield


@pytest.fixture(scope="session", autouse=True)
def sources() -> Iterator[None]:
    """Where a class of the tests is defined is looked up once: CPython before 3.13 parses the whole file for that."""
    look_up, known = inspect.findsource, dict[tuple[str, str], tuple[list[str], int]]()

    def find(found: Any) -> tuple[list[str], int]:
        if not (isinstance(found, type) and found.__module__.startswith("tests.")):
            return look_up(found)
        name = found.__module__, found.__qualname__
        if name not in known:
            known[name] = look_up(found)
        return known[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspect, "findsource", find)
        yield


@pytest.fixture(scope="module", autouse=True)
def frozen() -> Iterator[None]:
    """What is there by now is there for good: collecting garbage, as many tests do, need not look at it again.

    What a module's tests leave is collected with its last one: another module may not expect the warnings of it.
    """
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture(scope="session")
def redis_process() -> Iterator[RedisProcess]:
    """A Redis server, the same one for all tests of a process; tests take ``redis_url``."""
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_url(redis_process: RedisProcess) -> str:
    """The address of an empty Redis."""
    import redis

    with redis.Redis.from_url(redis_process.url) as client:
        client.flushall()
    return redis_process.url


@pytest.fixture(scope="session", autouse=True)
def asleep_after_recorders() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanhook.testing.uninstrument", asleep.uninstrument)
        yield


@pytest.fixture
def unbound() -> Iterator[None]:
    """No library is bound when the test begins, and ``uninstrument`` removes every wrapper."""
    with asleep.unbound():
        yield
        assert reaper.drain(60.0)
        spanhook.uninstrument()


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    internal.fatal = True
    yield
    assert reaper.drain(60.0)
    asleep.uninstrument()
    internal.fatal = False
    internal.renew()
    counts.renew()
    counts.decisions = Counters(2)  # more than a thousand names of hooks in one process would be one series
    left = current.get()
    current.set(None)
    assert left is None, f"{left!r} is still current"


LIMITS = _checking.TIMEOUT, _decisions.BUDGET_NS


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs out of time because the machine is busy. Tests of limits give their own, or ask for ``limits``."""
    monkeypatch.setattr(_checking, "TIMEOUT", 60.0)
    monkeypatch.setattr(_decisions, "BUDGET_NS", 60_000_000_000)
    monkeypatch.setattr(spanhook.Hooks.flush, "__defaults__", (60.0,))


@pytest.fixture
def limits(patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits that users have."""
    monkeypatch.setattr(_checking, "TIMEOUT", LIMITS[0])
    monkeypatch.setattr(_decisions, "BUDGET_NS", LIMITS[1])


@pytest.fixture
def fresh_loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Event loops of spanhook's of the test's own, which it may harm and be told of."""
    monkeypatch.setattr(loops, "_repeats", Repeats())
    private_loops.renew()
    yield
    internal.counts.pop("loop.hung", None)
    private_loops.renew()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
