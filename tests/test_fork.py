"""What starts afresh in a forked child: all of it, in the order stated, whatever fails on the way."""

import importlib
from pathlib import Path

import pytest

import spanhook
from spanhook import fork
from tests.forking import children

SOURCE = Path(spanhook.__file__).parent


def test_everything_stated_is_renewed_and_nothing_else() -> None:
    # These are imported when they are asked for.
    optional = ("control_plane", "definitions", "export.console", "runs", "store")
    for name in optional:
        importlib.import_module(f"spanhook.{name}")
    assert set(fork._renewals) == set(fork.ORDER)


def test_nothing_is_registered_past_the_registry() -> None:
    found = [path.name for path in SOURCE.rglob("*.py") if "register_at_fork" in path.read_text()]
    assert found == ["fork.py"]


def test_the_order_is_the_stated_one_whoever_registers_first(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(fork, "_renewals", {})
    fork.after_fork("console", lambda: seen.append("console"))
    fork.after_fork("diagnostics", lambda: seen.append("diagnostics"))
    fork.after_fork("metrics", lambda: seen.append("metrics"))
    fork.renew_all()
    assert seen == ["diagnostics", "metrics", "console"]


def test_one_that_fails_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def broken() -> None:
        raise ValueError("no")

    monkeypatch.setattr(fork, "_renewals", {})
    fork.after_fork("threads", broken)
    fork.after_fork("hooks", lambda: seen.append("hooks"))
    with pytest.raises(ExceptionGroup, match="not renewed in the forked child") as caught:
        fork.renew_all()
    assert seen == ["hooks"]
    assert [str(error) for error in caught.value.exceptions] == ["no"]


def test_a_child_renews() -> None:
    code = """if True:
        import os
        import spanhook
        from spanhook.concurrency import private_loops
        from spanhook.diagnostics import internal
        from spanhook.gating import registering

        lock = registering.lock
        internal.counts["thing"] = 1
        if (child := os.fork()) == 0:
            os._exit(0 if registering.lock is not lock and not internal.counts else 1)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or internal.counts["thing"] != 1)
    """
    children.run("-W", "error", "-c", code, check=True)


def test_what_is_held_is_let_go_in_the_parent_alone() -> None:
    asked = (
        "import os\n"
        "from spanhook.fork import held_for_fork\n"
        "seen = []\n"
        "class Lock:\n"
        "    def release(self):\n"
        "        seen.append('let go')\n"
        "held_for_fork(lambda held: seen.append('held') or held.append(Lock()))\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(len(seen))\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1\n"
        "assert seen == ['held', 'let go']\n"
    )
    children.run("-c", asked, check=True)
