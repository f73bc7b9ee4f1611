"""The rules of imports hold, and each import that would break one is found."""

import importlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent

sys.path.insert(0, str(ROOT / ".ci"))
module: Any = importlib.import_module("rules")
sys.path.remove(str(ROOT / ".ci"))


@pytest.fixture(scope="module")
def rules() -> Any:
    return module.Rules()


def test_they_hold(rules: Any) -> None:
    assert list(rules.broken()) == []


def _doors() -> list[tuple[str, str]]:
    """For each package with a door, an import past it."""
    found: list[tuple[str, str]] = []
    for name, exported in module.Rules().packages.items():
        inside = [one for one in module.modules() if one.rpartition(".")[0] == name]
        hidden = [one for one in inside if exported is not None and one.rpartition(".")[2] not in exported]
        if hidden and name != "spanhook":
            found.append((name, hidden[0]))
    return found


DOORS = _doors()
OUTSIDE = "spanhook.dry_run"


@pytest.mark.every_value
@pytest.mark.parametrize(("package", "inner"), DOORS, ids=[package for package, _ in DOORS])
def test_an_import_past_a_door_is_found(rules: Any, package: str, inner: str) -> None:
    above, _, name = inner.rpartition(".")
    for text in (f"import {inner}", f"from {above} import {name}", f"from {inner} import anything"):
        assert [line for line, _ in rules.broken_by(OUTSIDE, text)], (package, text)
    assert not list(rules.broken_by(f"{package}.another", f"import {inner}"))


def test_most_packages_have_a_door() -> None:
    with_doors = {package for package, _ in DOORS}
    assert {"spanhook.model", "spanhook.engine", "spanhook.gating", "spanhook.store.control"} <= with_doors
    assert len(with_doors) > 40


LIBRARY = "spanhook.instrument.openai.anything"


@pytest.mark.parametrize(
    ("importer", "text", "said"),
    [
        (OUTSIDE, "from spanhook.model import _clock", "_clock is not in __all__ of spanhook.model"),
        (OUTSIDE, "from spanhook.model import not_exported", "not_exported is not in __all__ of spanhook.model"),
        (OUTSIDE, "from spanhook.hooks import _settings", "_settings is not in __all__"),
        ("spanhook.server.pages.runs", "from spanhook.server.routes import health", "health is not in __all__"),
        (LIBRARY, "from spanhook.instrument.anthropic import apis", "belongs to anthropic"),
        ("spanhook.instrument.known", "from spanhook.instrument.anthropic import apis", "belongs to anthropic"),
        ("spanhook.instrument.wire.api", "from spanhook.instrument.anthropic import apis", "belongs to anthropic"),
        (LIBRARY, "from spanhook.engine import call", "adapters do not know spanhook.engine"),
        (LIBRARY, "from spanhook.gating import Hooks", "adapters do not know spanhook.gating"),
        (LIBRARY, "from spanhook.telemetry import telemetry", "adapters do not know spanhook.telemetry"),
        (LIBRARY, "from spanhook.concurrency import drive", "adapters do not know spanhook.concurrency"),
        (LIBRARY, "from spanhook.settings import Settings", "adapters do not know spanhook.settings"),
        (
            LIBRARY,
            "from spanhook.instrument._points import anything",
            "adapters do not know spanhook.instrument._po",
        ),
        (LIBRARY, "from spanhook.instrument import watching", "adapters do not know spanhook.instrument.watching"),
        ("spanhook.instrument.formats.openai.chat", "from spanhook.engine import call", "adapters do not know"),
        (OUTSIDE, "from .model import _clock", "imports name the module, from spanhook on"),
        ("spanhook.gating.hook", "from spanhook.gating.log import *", "imports name the module"),
        ("spanhook.engine.calls", "import openai", "openai is a library that is instrumented"),
        ("spanhook.instrument.wire.api", "from google.genai import types", "google.genai is a library"),
        (
            "spanhook.model.record",
            "def f():\n    from langchain_core import messages",
            "langchain_core is a library",
        ),
    ],
)
def test_what_breaks_another_rule_is_found(rules: Any, importer: str, text: str, said: str) -> None:
    [(_, message)] = rules.broken_by(importer, text)
    assert said in message


@pytest.mark.parametrize(
    ("importer", "text"),
    [
        ("spanhook.instrument.langgraph.anything", "from spanhook.instrument.langchain_core import messages"),
        ("spanhook.instrument.langchain_core.wanted", "from spanhook.gating import Hooks"),
        (LIBRARY, "import openai"),
        ("spanhook.cli.conformance.libraries.openai", "import openai"),
        ("spanhook.store.control.wire", "from google.protobuf import json_format"),
        (OUTSIDE, "from spanhook.hooks import budget"),
        ("spanhook.server.pages.runs", "from spanhook.server.routes.runs import get_run"),
    ],
)
def test_what_is_allowed_is_not(rules: Any, importer: str, text: str) -> None:
    assert not list(rules.broken_by(importer, text))


PLANTED = {
    "a lower layer never imports a higher one": ("model/record.py", "from spanhook import cli"),
    "no circles, within packages either": ("engine/_chunks.py", "from spanhook.engine import calls"),
    "ready-made hooks know what authors of hooks know": ("hooks/metrics.py", "from spanhook import telemetry"),
    "formats know no transport, and what they share knows neither": (
        "instrument/wire/api.py",
        "from spanhook.instrument import formats",
    ),
    "formats do not know each other": (
        "instrument/formats/cohere/chat.py",
        "from spanhook.instrument.formats import google",
    ),
}
"""For each contract of import-linter, a file and a line that breaks it."""


@pytest.mark.slow
def test_what_breaks_the_contracts_of_import_linter_is_found(tmp_path: Path) -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed: pip install import-linter")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {one["name"] for one in project["tool"]["importlinter"]["contracts"]} == {*PLANTED}
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for file, line in PLANTED.values():
        path = tmp_path / "src" / "spanhook" / file
        path.write_text(f"{path.read_text()}\n\n{line}\n")
    ran = subprocess.run(
        [linter, "--no-cache"], cwd=tmp_path, env={"PYTHONPATH": "src"}, capture_output=True, text=True, check=False
    )
    broken = {name for name in PLANTED if f"{name} BROKEN" in ran.stdout}
    assert broken == {*PLANTED}, ran.stdout
