"""Hooks for whole runs, written the way users write them. Type-checked and never run, so that their types stay."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from pathlib import Path
from typing import Any, assert_type

import spanhook
from spanhook import Reject
from spanhook.runs import (
    RejectRun,
    RunContext,
    RunHooks,
    RunScope,
    User,
    from_aegra,
    from_mapping,
    get_hooks,
    get_hooks_timeout,
    load_hooks,
    run_scope,
    set_hooks,
)
from spanhook.testing import recorder

hooks = RunHooks(timeout=3)


@hooks.before_run
async def gate(ctx: RunContext) -> None:
    assert_type(ctx.user, User)
    assert_type(ctx.user.permissions, tuple[str, ...])
    assert_type(ctx.user.identity, str)
    plan: Any = ctx.user.plan
    assert_type(ctx.config, dict[str, Any])
    assert_type(ctx.metadata, dict[str, Any])
    if plan != "pro":
        raise hooks.RejectRun("Subscribe", status_code=402)


@hooks.after_run
@hooks.on_run_error
def note(ctx: RunContext) -> int:
    assert_type(ctx.status, str | None)
    assert_type(ctx.error_type, str | None)
    return 3


hooks.before_run(3)  # pyright: ignore[reportArgumentType]

reject: Reject = RejectRun("No", 429)
assert_type(RejectRun().message, str)
assert_type(note(RunContext("r", "t", "a", "g", User("ann"))), int)
assert_type(hooks.remove(note), bool)
hooks.timeout = None

spanhook.instrument(hooks)
spanhook.instrument([hooks, spanhook.Hooks()])
set_hooks(hooks, timeout=2.5)
set_hooks(None)
assert_type(get_hooks(), RunHooks | None)
assert_type(get_hooks_timeout(), float | None)
assert_type(load_hooks("./hooks.py:hooks", base_dir=Path()), RunHooks)
assert_type(from_mapping({"path": "./hooks.py:hooks", "timeout": 5}, "."), RunHooks)
assert_type(from_aegra(), RunHooks | None)


async def serve(user: User) -> None:
    async with run_scope("graph", thread_id="t1", user=user, config={}, input={"a": 1}) as scope:
        assert_type(scope, RunScope)
        scope.output = scope.run_id
    with recorder(hooks), run_scope(user={"identity": "ann"}) as scope:
        scope.interrupted = True
