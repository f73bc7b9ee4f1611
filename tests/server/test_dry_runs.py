import asyncio
import os
import signal
import textwrap
from pathlib import Path
from typing import Any

import pytest

from spanhook.definitions import HookDefinition
from spanhook.server import ServerSettings
from spanhook.server.dry_runs import DryRuns
from spanhook.server.problems import Problem

pytestmark = pytest.mark.anyio

HANDLERS = """
    import itertools
    import os
    import time

    from spanhook.definitions import handler


    class Acting:
        event_type = "tool.execute.pre"

        async def execute(self, context, call_next):
            self.act(context)
            return await call_next(context)


    @handler
    class Sleeps:
        def execute(self, context, call_next):
            time.sleep(3600)


    @handler
    class Spins(Acting):
        def act(self, context):
            all(itertools.repeat(True))  # no other thread runs meanwhile, so no timeout ends it


    @handler
    class Dies(Acting):
        def act(self, context):
            os._exit(3)


    @handler
    class Eats(Acting):
        def act(self, context):
            context.metadata["all"] = bytearray(8 * 1024**3)


    @handler
    class Talks(Acting):
        def act(self, context):
            print("to standard output")
            os.write(1, b"to its descriptor")


    @handler
    class Fills(Acting):
        def act(self, context):
            context.metadata["much"] = "x" * 2_000_000


    @handler
    class Leaves(Acting):
        def act(self, context):
            child = os.fork()
            if not child:
                os.setsid()
                time.sleep(60)
                os._exit(0)
            context.metadata["left"] = child


    @handler
    class Looks(Acting):
        def act(self, context):
            context.metadata.update(environment=sorted(os.environ), folder=os.listdir("."))
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DryRuns:
    (tmp_path / "acting.py").write_text(textwrap.dedent(HANDLERS))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "x")
    monkeypatch.setattr("spanhook.server.dry_runs._STARTING_S", 60.0)
    return DryRuns(ServerSettings(dry_run_timeout=2, dry_runs=2), ["acting"])


def hook(name: str) -> HookDefinition:
    return HookDefinition(name=name, event_type="tool.execute.pre", handler_ref=f"acting:{name}", timeout_ms=5000)


async def refused(runs: DryRuns, name: str) -> str:
    with pytest.raises(Problem) as refusal:
        await runs.run(hook(name), {})
    assert refusal.value.code == "invalid"
    return refusal.value.detail


async def test_one_that_takes_too_long_is_stopped(runs: DryRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanhook.server.dry_runs._STARTING_S", 0.5)
    assert "was stopped" in await refused(runs, "Sleeps")


async def test_one_that_takes_too_much_of_the_processor_is_ended(runs: DryRuns) -> None:
    assert "was stopped" in (said := await refused(runs, "Spins")) or "has ended with code" in said


async def test_one_that_ends_its_process_ends_only_that(runs: DryRuns) -> None:
    assert "code 3" in await refused(runs, "Dies")


async def test_one_that_takes_too_much_memory_fails(runs: DryRuns) -> None:
    found = await runs.run(hook("Eats"), {})
    assert [one["success"] for one in found["results"]] == [False]
    assert "MemoryError" in found["results"][0]["error"]


async def test_what_it_prints_is_no_result(runs: DryRuns) -> None:
    found = await runs.run(hook("Talks"), {"name": "x"})
    assert [one["decision"] for one in found["results"]] == ["allow"]


async def test_what_it_leaves_has_a_limit(runs: DryRuns) -> None:
    assert "larger than" in await refused(runs, "Fills")


async def test_a_process_that_it_leaves_behind_keeps_nobody_waiting(runs: DryRuns) -> None:
    found = await runs.run(hook("Leaves"), {})
    os.kill(found["context_after"]["metadata"]["left"], signal.SIGKILL)


async def test_it_knows_nothing_of_the_server(runs: DryRuns) -> None:
    found = await runs.run(hook("Looks"), {})
    assert found["context_after"]["metadata"]["folder"] == []
    environment = found["context_after"]["metadata"]["environment"]
    assert "SECRET_OF_THE_SERVER" not in environment
    assert "PATH" in environment


async def test_there_are_only_so_many_at_a_time(runs: DryRuns) -> None:
    found: list[Any] = await asyncio.gather(*(runs.run(hook("Talks"), {}) for _ in range(4)), return_exceptions=True)
    assert sorted(getattr(one, "code", "done") for one in found) == ["done", "done", *["too_many_dry_runs"] * 2]
    assert (await runs.run(hook("Talks"), {}))["results"]


async def test_one_that_nobody_waits_for_any_more_is_ended(runs: DryRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    started, begun = list[asyncio.subprocess.Process](), asyncio.Event()
    start = asyncio.create_subprocess_exec

    async def noted(*args: Any, **kwargs: Any) -> asyncio.subprocess.Process:
        started.append(await start(*args, **kwargs))
        begun.set()
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    running = asyncio.create_task(runs.run(hook("Sleeps"), {}))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [one.returncode for one in started] == [-signal.SIGKILL]
