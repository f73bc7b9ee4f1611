"""Other packages that have a bound library's module name are left alone."""

import importlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import spanhook
from spanhook.instrument import instrumentor_of
from spanhook.instrument._packages import has_mark
from tests.standin import package


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where modules are found first; afterwards, those that were there before are back."""
    monkeypatch.syspath_prepend(str(tmp_path))
    held = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "agents"}
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "agents"]:
        del sys.modules[name]
    sys.modules.update(held)


@pytest.mark.parametrize("before", [True, False])
def test_an_applications_own_agents(folder: Path, before: bool, caplog: pytest.LogCaptureFixture) -> None:
    place = package(folder, "agents")
    (place / "run.py").write_text("class AgentRunner:\n    async def run(self): return 'mine'\n")
    (place / "tool.py").write_text("class FunctionTool: ...\n")
    if before:
        importlib.import_module("agents.run")
    spanhook.instrument()
    runner = importlib.import_module("agents.run").AgentRunner
    importlib.import_module("agents.tool")
    instrumentor_of("openai_agents").load()
    assert "run" in vars(runner)
    assert not hasattr(vars(runner)["run"], "__wrapped__")
    assert "bound" not in instrumentor_of("openai_agents").states.values()
    assert "agents." not in caplog.text


def test_a_mark_is_looked_for_in_the_package_of_a_module(folder: Path) -> None:
    place = package(folder, "agents.inner")
    (place.parent / "__init__.py").write_text("")
    (place.parent / "mark.py").write_text("")
    (place / "deep.py").write_text("")
    importlib.invalidate_caches()
    for name in ("agents", "agents.inner", "agents.inner.deep", "agents.mark"):
        assert has_mark(find_spec(name), ("other.py", "mark.py"))
        assert has_mark(find_spec(name), ())
        assert not has_mark(find_spec(name), ("deep.py",))
    assert not has_mark(None, ("mark.py",))
