"""What a library says of itself is found wherever libraries are named, and what cannot read it is checked."""

import ast
import importlib
import json
import pkgutil
import shutil
import sys
import venv
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import spanhook
from spanhook.instrument import INSTRUMENTORS, Declaration, Instrumentor, instrumentor_of
from spanhook.instrument.declarations import Tracing
from spanhook.instrument.instrumentor import Entry
from spanhook.model import Adapter, Block
from tests.acme import DECLARED, DOCTOR, INSTRUMENTOR, LIBRARY, PROGRAM
from tests.commands import SPANHOOK, Folder
from tests.declared import disagreements
from tests.standin import distribution, package

SOURCE = Path(spanhook.__file__).parent
DECLARATIONS = Path("instrument", "declarations.py")

# ----------------------------------------------------------------------------------- what is declared


def test_every_instrumentor_is_declared() -> None:
    folder = [str(SOURCE / "instrument")]
    packages = [one.name for one in pkgutil.iter_modules(folder, "spanhook.instrument.") if one.ispkg]
    found = {
        f"{value.__module__}:{value.__qualname__}"
        for name in packages
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, type) and issubclass(value, Instrumentor) and value is not Instrumentor
    }
    assert {one.instrumentor for one in INSTRUMENTORS.values()} == found


@pytest.mark.parametrize("declared", INSTRUMENTORS.values(), ids=INSTRUMENTORS)
def test_what_it_says_is_so(declared: Declaration) -> None:
    instrumentor = instrumentor_of(declared.library)
    assert instrumentor.library == declared.library
    assert Requirement(declared.requirement).name == declared.distribution
    stand_ins = f"spanhook.instrument.{declared.library}."  # for functions of the application
    found = {one.partition(".")[0] for one in modules(instrumentor) if not one.startswith(stand_ins)}
    assert found == {declared.module.partition(".")[0], *declared.beside}
    known = {INSTRUMENTORS[name].layer for name in declared.knows}
    if find_spec(declared.module.partition(".")[0]) and find_spec(
        declared.module
    ):  # each library has an environment of its own in CI
        layers = {one.layer.partition(".")[0] for one in adapters(declared.library)}
        assert layers - known == {declared.layer}
    assert all(declared.recognises(word) for word in declared.words)
    assert not any(declared.recognises(other) for other in declared.unlike)


def modules(instrumentor: Instrumentor) -> Iterator[str]:
    entry: Entry
    for entry in instrumentor.table:
        yield entry.module


@pytest.mark.parametrize("library", INSTRUMENTORS)
def test_no_function_is_wrapped_by_two_of_its_library(library: str) -> None:
    """Whoever holds the function itself gets one of the wrappers, which then stands for both."""
    found: list[Any] = []
    entry: Entry
    for entry in instrumentor_of(library).table:
        if not isinstance(entry, Block) or not find_spec(entry.module.partition(".")[0]):
            continue
        with suppress(ImportError, AttributeError):  # of another version
            found.append(attrgetter(entry.name)(importlib.import_module(entry.module)))
    assert len({id(one) for one in found}) == len(found)


def adapters(library: str) -> Iterator[Adapter]:
    folder = importlib.import_module(f"spanhook.instrument.{library}")
    for one in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
        for value in vars(importlib.import_module(one.name)).values():
            if isinstance(value, Adapter):
                yield value


def test_nothing_is_said_by_two() -> None:
    for said in (
        [one.layer for one in INSTRUMENTORS.values()],
        [name for one in INSTRUMENTORS.values() for name in set(one.names)],
        [word for one in INSTRUMENTORS.values() for word in one.words],
    ):
        assert sorted(said) == sorted(set(said))
    for one in INSTRUMENTORS.values():
        others = [word for other in INSTRUMENTORS.values() if other is not one for word in other.words]
        assert not [word for word in others if one.recognises(word)], one.library


@pytest.mark.parametrize("declared", INSTRUMENTORS.values(), ids=INSTRUMENTORS)
def test_what_cannot_read_it_agrees(declared: Declaration) -> None:
    assert disagreements(declared, instrumentor_of(declared.library), list(INSTRUMENTORS)) == []


def test_the_start_up_code_of_any_python_can_read_it() -> None:
    tree = ast.parse((SOURCE / DECLARATIONS).read_text(), feature_version=(3, 7))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


@pytest.mark.parametrize(
    ("scope", "libraries"),
    {
        "openinference.instrumentation.openai": ["openai"],
        "opentelemetry.instrumentation.openai_v2": ["openai"],
        "opentelemetry.instrumentation.openai_agents": ["openai_agents"],
        "openinference.instrumentation.openai-agents": ["openai_agents"],
        "opentelemetry.instrumentation.langchain": ["langchain_core"],
        "opentelemetry-instrumentation-langgraph": ["langgraph"],
        "openinference.instrumentation.bedrock": ["botocore"],
        "opentelemetry.instrumentation.bedrock": ["botocore"],
        "opentelemetry.instrumentation.botocore.bedrock-runtime": ["botocore"],
        "opentelemetry.instrumentation.aiobotocore": ["aiobotocore"],
        "somebody": [],
    }.items(),
)
def test_scopes_of_others(scope: str, libraries: list[str]) -> None:
    assert [one.library for one in INSTRUMENTORS.values() if one.recognises(scope)] == libraries


def test_spans_of_its_own() -> None:
    tracing = Tracing(("com.example.sdk",), "always")
    declared = Declaration("acme", instrumentor="", requirement="acme >= 1", extra="acme", tracing=tracing)
    found = [declared.recognises(one) for one in ("com.example.sdk", "com.example.sdk.aws", "com.example.sdks")]
    assert found == [True, True, False]


# ----------------------------------------------------------------------------------- a library is added


def added() -> Declaration:
    return eval(DECLARED.strip(), {"Declaration": Declaration, "Tracing": Tracing})


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """spanhook as it is, with one more library, which is installed beside it."""
    folder = Folder(tmp_path_factory.mktemp("elsewhere"))
    shutil.copytree(SOURCE, folder.path / "spanhook", ignore=shutil.ignore_patterns("__pycache__"))
    with (folder.path / "spanhook" / DECLARATIONS).open("a") as table:
        table.write(f'INSTRUMENTORS["acme"] = {DECLARED.strip()}\n')
    folder.file("spanhook/instrument/acme/__init__.py", INSTRUMENTOR)
    package(folder.path, "acme", LIBRARY)
    distribution(folder.path, "acme-sdk")
    distribution(folder.path, "openinference-instrumentation-acme")
    return folder


@pytest.fixture(scope="module")
def said(elsewhere: Folder) -> dict[str, Any]:
    elsewhere.write(program=PROGRAM)
    ran = elsewhere.run(sys.executable, "program.py", PYTHONPATH=str(elsewhere.path))
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.slow
def test_it_is_bound_and_counted_once(said: dict[str, Any]) -> None:
    """Though another instrumentation has a span around the call, and the library one inside, both of another model."""
    assert said["bound"] == said["by alias"] == [["acme-1", "tool.execute"], 15]
    assert said["left out"] == [["acme-other", "tool.execute"], 15]


def test_it_goes_by_every_name(said: dict[str, Any]) -> None:
    assert said["names"] == ["acme"] * 3
    assert said["loaded"] == []


def test_refusals_are_not_raised_into_what_swallows_them(said: dict[str, Any]) -> None:
    assert said["swallowing"] == ["com.example.sdk", "theirs.acme"]


def test_others_that_record_its_calls_are_found(said: dict[str, Any]) -> None:
    assert said["others"] == [["openinference-instrumentation-acme", ["acme"]]]


def test_the_matrix_has_it(said: dict[str, Any]) -> None:
    assert said["conformance"] == ["acme-sdk", "acme", "1.2.3"]
    assert said["environment"] == {"ACMES": "y"}


@pytest.mark.slow
def test_the_doctor_sees_it(elsewhere: Folder) -> None:
    elsewhere.write(both=DOCTOR)
    ran = elsewhere.run(sys.executable, "both.py", PYTHONPATH=str(elsewhere.path))
    written, _, told = ran.stdout.partition("\n}\n")
    report = json.loads(written + "}")
    (found,) = [one for one in report["libraries"] if one["name"] == "acme"]
    assert (ran.stderr, found["bound"], found["version"], found["supported"]) == ("", 1, "1.2.3", True)
    assert ["acme", "1.2.3", ["com.example.sdk"], "always"] in [list(one.values()) for one in report["self_tracing"]]
    assert "acme" not in [one["name"] for one in report["unbound"]]
    rows = [line.split() for line in told.splitlines()]
    assert ["acme", "1.2.3", "supported", "1", "of", "1", "points", "bound"] in rows


@pytest.mark.slow
def test_an_application_may_require_it(elsewhere: Folder, tmp_path: Path) -> None:
    elsewhere.write(app="print('it runs')")
    here = str(elsewhere.path)
    ran = elsewhere.run(*SPANHOOK, "run", "--require", "ac", "app.py", PYTHONPATH=here)
    assert (ran.returncode, ran.stdout) == (0, "it runs\n"), ran.stderr

    distribution(tmp_path, "acme-sdk", "2.0")
    ran = elsewhere.run(*SPANHOOK, "run", "--require", "ac", "app.py", PYTHONPATH=f"{tmp_path}:{here}")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "required library 'acme' is at version 2.0; supported is acme-sdk >= 1, < 2" in ran.stderr


def test_a_python_that_has_it_and_no_spanhook_does_not_start(elsewhere: Folder, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=False, symlinks=True)
    site = str(elsewhere.path / "spanhook" / "bootstrap" / "site")
    outside = Folder(tmp_path)
    python = str(tmp_path / "bin" / "python")
    ran = outside.run(python, "-c", "print('a tool')", PYTHONPATH=site)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "a tool\n", "")

    (packages,) = (tmp_path / "lib").glob("python*/site-packages")
    package(packages, "acme")
    ran = outside.run(python, "-c", "print('ungated')", PYTHONPATH=site)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "bin/python has no spanhook, so what it runs would not be gated" in ran.stderr


def test_start_up_code_that_cannot_read_what_is_gated_starts_nothing(elsewhere: Folder, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=False, symlinks=True)
    shutil.copytree(elsewhere.path / "spanhook" / "bootstrap" / "site", tmp_path / "alone" / "site")
    ran = Folder(tmp_path).run(str(tmp_path / "bin" / "python"), "-c", "", PYTHONPATH=str(tmp_path / "alone" / "site"))
    assert ran.returncode == 2
    assert "cannot tell what it would gate: FileNotFoundError" in ran.stderr


ROW = "| `acme` | `acme-sdk`, `ac` | `acme-sdk >= 1, < 2` | `spanhook[acme]` | `llm.call` |"


def test_what_cannot_read_it_is_told_what_to_add() -> None:
    class AcmeInstrumentor(Instrumentor):
        library = "acme"
        kinds = frozenset(("llm.call",))

    libraries = [*INSTRUMENTORS, "acme"]
    told = disagreements(added(), AcmeInstrumentor(), libraries)
    assert told == [
        "src/spanhook/instrument/acme/__init__.py: make it, with its instrumentor",
        "src/spanhook/cli/conformance/libraries/acme.py: make it, with its ways of calling, as SUBJECTS",
        "tests/instrument/test_acme.py: make it, with its tests",
        "pyproject.toml: add 'acme-sdk<2,>=1' to the extra 'acme'",
        "pyproject.toml: add 'acme' to spanhook[...] in the extra 'all'",
        "pyproject.toml: add 'acme' to spanhook[...] in the extra 'test'",
        "constraints.txt: add acme-sdk==the newest version that is supported",
        ".ci/oldest.txt: add acme-sdk==the oldest version that is supported",
        f"docs/ways-in.md: the table of libraries needs the row {ROW}",
        f"docs/ways-in.md: the warning should name {', '.join(libraries)}",
        "README.md: its paragraph on supported versions should name acme-sdk",
        ".ci/environments: forget_surroundings should forget ACME_*",
    ]
