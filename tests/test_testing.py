"""What tests of hooks are written with."""

import importlib
import sys
import textwrap
from pathlib import Path

import pytest
from langchain_core.tools import tool

from spanhook import Hooks, testing
from spanhook.testing import is_gated
from tests.stub import stubbed


def test_a_coroutine_can_be_probed() -> None:
    @tool
    async def search(query: str) -> str:
        """Search."""
        raise AssertionError("must not run")

    assert is_gated("tool.execute", lambda: search.ainvoke({"query": "x"}))


def test_recorder_waits_for_subscriptions() -> None:
    hooks = Hooks()
    heard: list[str] = []
    hooks.on("llm.call.post", lambda op: heard.append(op.event))
    with stubbed(hooks) as (library, _):
        library.work("x")
    assert heard == ["llm.call.post"]


def test_the_example_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert testing.__doc__ is not None
    (tmp_path / "example.py").write_text(textwrap.dedent(testing.__doc__.partition("::\n")[2]))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("example")
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
    sys.modules.pop("example")
