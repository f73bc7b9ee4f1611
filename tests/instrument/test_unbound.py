"""Agent libraries that are in use and not bound: told of once, refused where strict, never made slower or broken."""

import asyncio
import importlib
import importlib.util
import logging
import re
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider

import spanhook
from spanhook import ConfigurationError, Hooks, RequirementError, Settings, UnboundError, semconv
from spanhook.diagnostics import internal
from spanhook.instrument import INSTRUMENTORS, KNOWN, Declaration, Instrumentor, version, watch
from spanhook.instrument._reimports import reimports
from spanhook.instrument.known import BEDROCK, FASTMCP
from spanhook.instrument.unbound import Unbound, libraries, spec_of, version_in_use
from spanhook.model import Point
from tests.config.test_instrumenting import in_force
from tests.here import is_here
from tests.standin import BY_NAME, distribution, library, package
from tests.telemetry.test_metrics import reader

MODULES = {module: known for known in KNOWN for module in known.modules or ()}
STRICT = Settings(strict=True)
QUIET = (BEDROCK, FASTMCP) if is_here("mcp") else (BEDROCK,)
"""What is not warned of when it is imported; FastMCP's calls are gated through ``mcp``."""
INSTALLED = {known.library for known in KNOWN if version(known)}
"""What the tests of other things have installed."""


def importable() -> list[Any]:
    return [one for one in watch.importable() if one.known.library not in INSTALLED]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where packages are found before any other, in a process that has told of none."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(watch, "_told", {})
    monkeypatch.setattr(watch, "_used", set())
    before = dict(sys.modules)
    for name in MODULES.keys() & before.keys():
        del sys.modules[name]
    yield tmp_path
    spanhook.uninstrument()
    for name in [name for name, module in sys.modules.items() if name not in before and _is_in(tmp_path, module)]:
        del sys.modules[name]
    sys.modules.update(before)


def _is_in(folder: Path, module: ModuleType) -> bool:
    spec = spec_of(module)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return all(str(place).startswith(str(folder)) for place in places if place) and any(places)


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What was logged at warning or above since it was last asked."""

    def messages() -> list[str]:
        found = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
        caplog.clear()
        return found

    return messages


Told = Callable[[], list[str]]

# ----------------------------------------------------------------------------------- the table


def test_the_table_has_each_library_once_and_none_that_is_bound() -> None:
    names = [known.library for known in KNOWN]
    modules = [module for known in KNOWN for module in known.modules or ()]
    assert names == sorted(set(names))
    assert len(set(modules)) == len(modules)
    assert not set(names) & INSTRUMENTORS.keys()


def test_the_documents_name_each() -> None:
    text = (Path(__file__).parents[2] / "docs" / "ways-in.md").read_text()
    listed = text.partition("Known so far: ")[2].partition(".\n")[0]
    assert re.findall(r"`([^`]+)`", listed) == [known.library for known in KNOWN]


# ----------------------------------------------------------------------------------- telling


def test_libraries_that_are_imported_later_are_told_of_once(folder: Path, told: Told) -> None:
    for known in KNOWN:
        library(folder, known)
    spanhook.instrument()
    importable()
    assert (told(), MODULES.keys() & sys.modules.keys()) == ([], set())  # nothing is imported to find out
    for known in KNOWN:
        for module in known.modules or ():
            importlib.import_module(module)
        if known in QUIET:
            assert told() == []
            continue
        (said,) = told()
        bypass = f"spanhook: {known.library} 1.2.3 is imported but not bound: {known.bypass.what} bypass spanhook; "
        assert said.startswith(bypass)
        assert said.endswith(f"accept it with SPANHOOK_ALLOW={known.library} or Settings(allow=['{known.library}'])")
    spanhook.instrument()
    assert told() == []


def test_libraries_that_are_imported_already_are_told_of_once(folder: Path, told: Told) -> None:
    for known in KNOWN:
        library(folder, known)
    for module in MODULES:
        importlib.import_module(module)

    spanhook.instrument()
    spanhook.uninstrument()
    spanhook.instrument()

    names = [f"spanhook: {known.library} 1.2.3" for known in KNOWN if known not in QUIET]
    assert [one.partition(" is ")[0] for one in told()] == names


def test_without_a_distribution_the_version_is_unknown(folder: Path, told: Told) -> None:
    package(folder, "ollama")
    spanhook.instrument()

    importlib.import_module("ollama")

    assert [one[:47] for one in told()] == ["spanhook: ollama (of unknown version) is import"]


def test_the_version_is_that_of_the_distribution_that_has_the_module(folder: Path) -> None:
    [dspy] = [known for known in libraries() if known.library == "dspy"]
    before = version_in_use(dspy)
    distribution(folder, "dspy-ai")
    (folder / "dspy_ai-1.2.3.dist-info" / "top_level.txt").write_text("dspy\n")

    assert (before, version(dspy), version_in_use(dspy)) == ("", "", "1.2.3")
    warning = Unbound(dspy, version_in_use(dspy)).warning
    assert f"; install {INSTRUMENTORS['dspy'].requirement}, or accept it" in warning


def test_metadata_that_cannot_be_read_breaks_no_import(folder: Path, told: Told) -> None:
    package(folder, "ollama")
    (folder / "ollama-1.dist-info").mkdir()
    (folder / "ollama-1.dist-info" / "METADATA").write_bytes(b"\xff\xfe\x00 not metadata")
    spanhook.instrument()

    importlib.import_module("ollama")

    assert len(told()) == 1


def test_an_error_of_ours_breaks_no_import(folder: Path, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    library(folder, BY_NAME["ollama"])
    spanhook.instrument()
    monkeypatch.setattr(internal, "fatal", False)
    monkeypatch.setattr(watch, "rule", None)

    assert importlib.import_module("ollama").__name__ == "ollama"
    assert "internal error in unbound" in told()[0]


def test_a_package_of_the_same_name_is_not_meant(folder: Path, told: Told) -> None:
    distribution(folder, "ag2")
    package(folder, "autogen", "mine = True")
    spanhook.instrument(settings=STRICT)

    assert importlib.import_module("autogen").mine
    spanhook.instrument(settings=Settings())

    assert told() == []
    assert watch.in_use() == []


def test_a_module_that_loads_itself_when_it_is_used_is_left_alone(folder: Path, told: Told) -> None:
    library(folder, BY_NAME["ollama"], "loaded = True")
    spec = importlib.util.find_spec("ollama")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ollama"] = module
    spec.loader.exec_module(module)

    spanhook.instrument()

    assert "loaded" not in ModuleType.__getattribute__(module, "__dict__")
    assert len(told()) == 1


def test_what_is_left_out_is_not_told_of(folder: Path, told: Told) -> None:
    library(folder, BY_NAME["dashscope"])
    library(folder, BY_NAME["ollama"])
    importlib.import_module("dashscope")

    spanhook.instrument(only=["langchain"], settings=STRICT)
    importlib.import_module("ollama")
    assert (told(), watch.in_use(), importable()) == ([], [], [])

    with pytest.raises(RequirementError, match=r"dashscope.*ollama"):
        spanhook.instrument()  # now nothing is left out
    assert (told(), watch.in_use()) == ([], [])
    spanhook.instrument(settings=Settings())
    assert len(told()) == 2


@pytest.mark.parametrize("name", ["pipecat", "pipecat-ai", " pipecat "])
def test_what_is_allowed_is_not_told_of(name: str, folder: Path, told: Told) -> None:
    library(folder, BY_NAME["pipecat"])

    spanhook.instrument(settings=Settings(strict=True, allow=iter([name])))
    importlib.import_module("pipecat")
    spanhook.instrument()

    assert (told(), watch.in_use(), importable()) == ([], [], [])


def test_one_name_may_be_allowed_as_a_string() -> None:
    spanhook.instrument(settings=Settings(allow="dashscope"))
    assert watch.rule.allowed == {"dashscope"}


def test_a_name_to_allow_that_nobody_has() -> None:
    with pytest.raises(ConfigurationError, match="unknown library 'olama' to allow; did you mean 'ollama'"):
        spanhook.instrument(settings=Settings(allow=["olama"]))
    with pytest.raises(ConfigurationError, match="spanhook doctor lists"):
        spanhook.instrument(settings=Settings(allow=["zzz"]))


def test_nothing_is_told_of_or_refused_any_more(folder: Path, told: Told) -> None:
    for name in ("dashscope", "ollama"):
        library(folder, BY_NAME[name])
    finders = [one for one in sys.meta_path if one is not reimports]
    spanhook.instrument(settings=STRICT)
    spanhook.uninstrument()
    importlib.import_module("dashscope")
    spanhook.instrument(only=["langchain"])
    importlib.import_module("ollama")
    assert told() == []
    assert [one for one in sys.meta_path if one is not reimports] == finders  # that one is for what is bound


def test_nothing_grows() -> None:
    spanhook.instrument()
    spanhook.uninstrument()
    before = set(watch._listening)
    for _ in range(3):
        spanhook.instrument(settings=STRICT)
        spanhook.uninstrument()
    assert watch._listening == before


# ----------------------------------------------------------------------------------- libraries with an instrumentor


class Standing(Instrumentor):
    """A library that spanhook could bind."""

    library = "standing"
    table = (Point(module="standing.calls", name="work", adapter="tests.stub:WHOLE"),)


def test_a_library_that_could_be_bound_and_is_not(folder: Path, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = Declaration(
        "standing", instrumentor=f"{__name__}:Standing", requirement="standing >= 1", extra="standing"
    )
    monkeypatch.setitem(INSTRUMENTORS, "standing", declared)
    package(folder, "standing.calls", "def work(): ...")
    try:
        spanhook.instrument()
        importlib.import_module("standing.calls")
        (said,) = told()
        assert "standing (of unknown version) is imported but not bound: its calls bypass spanhook" in said
        assert "; install it, so that its version is known, or accept it with SPANHOOK_ALLOW=standing" in said

        distribution(folder, "standing")
        importlib.invalidate_caches()
        (found,) = watch.in_use()
        assert "; call spanhook.instrument() again, or" in found.warning

        spanhook.instrument(settings=STRICT)
        assert (told(), watch.in_use()) == ([], [])
    finally:
        del sys.modules["standing"], sys.modules["standing.calls"]


# ----------------------------------------------------------------------------------- strict


def test_strict_refuses_imports_before_anything_runs(folder: Path, told: Told) -> None:
    for known in KNOWN:
        library(folder, known, "raise AssertionError('it runs')")
    spanhook.instrument(settings=STRICT)
    for module, known in MODULES.items():
        with pytest.raises(ImportError) as refused:
            importlib.import_module(module)
        error = refused.value
        assert isinstance(error, UnboundError)
        assert isinstance(error, RequirementError)
        assert f"{module}.".startswith(f"{error.name}.")
        assert str(error).startswith(f"strict mode refused the import of {known.library} 1.2.3, which is not bound: ")
        accept = f"accept it with SPANHOOK_ALLOW={known.library} or Settings(allow=['{known.library}'])"
        assert str(error).endswith(accept)
        assert module not in sys.modules
    # for those who take it for missing, once
    wanted = [f"spanhook: strict mode refused the import of {one.library} 1.2.3" for one in KNOWN if one is not BEDROCK]
    assert told() == wanted


def test_strict_lets_look_whether_a_library_is_there(folder: Path, told: Told) -> None:
    library(folder, BY_NAME["dashscope"])
    spanhook.instrument(settings=STRICT)

    assert importlib.util.find_spec("dashscope") is not None
    assert importlib.util.find_spec("ollama") is None
    with pytest.raises(ModuleNotFoundError, match="No module named 'ollama'"):
        importlib.import_module("ollama")
    assert told() == []


def test_strict_refuses_what_is_imported_already(folder: Path) -> None:
    library(folder, BY_NAME["dashscope"])
    importlib.import_module("dashscope")
    before = in_force()

    with pytest.raises(RequirementError) as refused:
        spanhook.instrument(Hooks(), settings=STRICT)

    assert str(refused.value).startswith("dashscope 1.2.3 is imported but not bound, which strict mode does not allow")
    assert not isinstance(refused.value, ImportError)
    assert in_force() == before
    library(folder, BY_NAME["ollama"])
    importlib.import_module("ollama")

    spanhook.instrument(only=["langchain"])
    before = in_force()
    with pytest.raises(RequirementError, match=r"dashscope .*; ollama "):
        spanhook.instrument(settings=STRICT)
    assert in_force() == before


def test_strict_is_what_was_said_last(folder: Path) -> None:
    library(folder, BY_NAME["dashscope"])
    spanhook.instrument(settings=STRICT)
    spanhook.instrument()
    with pytest.raises(UnboundError):
        importlib.import_module("dashscope")
    spanhook.instrument(settings=Settings())
    importlib.import_module("dashscope")


class Shortcut:
    """A finder that somebody puts before ours."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name == "dashscope" else None


@pytest.fixture
def shortcut(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Puts it there, behind so many finders of those that other libraries have put at the front."""

    def put(behind: int) -> None:
        monkeypatch.setattr(sys, "meta_path", [*sys.meta_path[:behind], Shortcut(), *sys.meta_path[behind:]])

    return put


def test_strict_holds_where_another_finder_is_asked_before_it(folder: Path, shortcut: Callable[[int], None]) -> None:
    library(folder, BY_NAME["dashscope"])
    spanhook.instrument(settings=STRICT)
    finders = [type(one).__name__ for one in sys.meta_path]
    assert finders[0] == "Refusals"
    # wrapt's first, as when it is used for the first time after that
    sys.meta_path.insert(0, sys.meta_path.pop(finders.index("ImportHookFinder")))
    shortcut(1)

    with pytest.raises(UnboundError):
        importlib.import_module("dashscope")

    assert "dashscope" not in sys.modules


def test_an_import_that_goes_around_every_hook_is_still_counted(folder: Path, shortcut: Callable[[int], None]) -> None:
    library(folder, BY_NAME["dashscope"])
    spanhook.instrument()
    shortcut(0)

    importlib.import_module("dashscope")

    assert [one.known.library for one in watch.in_use()] == ["dashscope"]


# ----------------------------------------------------------------------------------- Bedrock

LOADER = """
class Loader:
    def load_service_model(self, service_name, type_name, api_version=None):
        return {"service": service_name, "type": type_name}
"""


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real botocore is as if no other test had imported it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "botocore"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def loader(folder: Path, forgotten: None) -> Any:
    """What botocore reads services with."""
    distribution(folder, "boto3")
    package(folder, "botocore")
    (folder / "botocore" / "loaders.py").write_text(LOADER)
    return importlib.import_module("botocore.loaders").Loader


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("late", [False, True], ids=["imported before", "imported after"])
@pytest.mark.parametrize("service", ["bedrock-agent-runtime", "bedrock-agentcore"])
def test_botocore_counts_once_it_is_used_for_agents(
    service: str, late: bool, folder: Path, told: Told, request: pytest.FixtureRequest
) -> None:
    if late:
        spanhook.instrument()
    loader = request.getfixturevalue("loader")
    if not late:
        spanhook.instrument()

    assert loader().load_service_model("s3", "service-2") == {"service": "s3", "type": "service-2"}
    assert loader().load_service_model("bedrock", type_name="service-2")["service"] == "bedrock"
    assert (told(), watch.in_use(), importable()) == ([], [], [])

    loader().load_service_model(service, "service-2")
    loader().load_service_model(service_name=service, type_name="paginators-1")

    (said,) = told()
    assert said.startswith("spanhook: bedrock_agents 1.2.3 is used for Bedrock's agents but not bound: agents and")
    assert [one.known.library for one in watch.in_use()] == ["bedrock_agents"]


def test_strict_refuses_a_client_of_bedrock(loader: Any, told: Told) -> None:
    was = vars(loader)["load_service_model"]
    spanhook.instrument(settings=STRICT)

    loader().load_service_model("s3", "service-2")
    with pytest.raises(
        UnboundError, match=r"refused a client of bedrock-agentcore from botocore, bedrock_agents 1\.2\.3"
    ):
        loader().load_service_model("bedrock-agentcore", "service-2")

    spanhook.uninstrument()
    assert vars(loader)["load_service_model"] is was
    loader().load_service_model("bedrock-agentcore", "service-2")
    with pytest.raises(RequirementError, match=r"bedrock_agents 1\.2\.3 is used for Bedrock's agents but not bound"):
        spanhook.instrument(settings=STRICT)
    spanhook.instrument(settings=Settings(strict=True, allow=["bedrock_agents"]))


# ----------------------------------------------------------------------------------- FastMCP

TOOL = """
class FunctionTool:
    async def run(self, arguments):
        return arguments
"""


@pytest.fixture
def call(folder: Path) -> Callable[[], Any]:
    """Calls a tool of a library that has the name and the functions of FastMCP."""
    library(folder, FASTMCP)
    package(folder, "fastmcp.tools")
    (folder / "fastmcp" / "tools" / "function_tool.py").write_text(TOOL)

    def called() -> Any:
        tool = importlib.import_module("fastmcp.tools.function_tool").FunctionTool()
        return asyncio.run(tool.run({"amount": 1}))

    return called


def test_fastmcp_counts_once_a_tool_is_called_without_a_gate(call: Callable[[], Any], told: Told) -> None:
    spanhook.instrument()
    with spanhook.operation("tool.execute", "add"):
        assert call() == {"amount": 1}
    at_import = told()
    if FASTMCP in QUIET:
        assert (at_import, watch.in_use(), importable()) == ([], [], [])

    for _ in range(2):
        with spanhook.operation("agent.invoke", "desk"):
            assert call() == {"amount": 1}

    (said,) = (*at_import, *told())
    assert "fastmcp 1.2.3 is imported but not bound: its tools, where they are called without a request" in said
    assert [one.known.library for one in watch.in_use()] == ["fastmcp"]


@pytest.fixture
def without_mcp() -> Iterator[None]:
    """MCP's SDK is not among what can be bound; afterwards it is again, in its place."""
    before = dict(INSTRUMENTORS)
    del INSTRUMENTORS["mcp"]
    yield
    INSTRUMENTORS.clear()
    INSTRUMENTORS.update(before)


def test_fastmcp_counts_where_mcp_is_not_bound(call: Callable[[], Any], told: Told, without_mcp: None) -> None:
    spanhook.instrument()
    importlib.import_module("fastmcp")
    assert [one.partition(" is ")[0] for one in told()] == ["spanhook: fastmcp 1.2.3"]


def test_strict_refuses_fastmcp(call: Callable[[], Any]) -> None:
    spanhook.instrument(settings=STRICT)
    with pytest.raises(UnboundError, match=r"the import of fastmcp"):
        call()


# ----------------------------------------------------------------------------------- the gauge


def points(metrics: Any) -> set[tuple[str, str, str]]:
    found: set[tuple[str, str, str]] = set()
    for resource in metrics.get_metrics_data().resource_metrics:
        for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
            if metric.name == semconv.METRIC_POINTS:
                for point in metric.data.data_points:
                    of = point.attributes
                    found.add((of[semconv.LIBRARY], of[semconv.LIBRARY_VERSION], of[semconv.STATE]))
    return {one for one in found if one[2] in ("unbound", "importable")}


@pytest.mark.slow
def test_points_tell_what_is_in_use_and_what_could_be(folder: Path) -> None:
    for name in ("dashscope", "agno", "huggingface_hub"):
        library(folder, BY_NAME[name])
    metrics = reader()
    before = {one for one in points_of_here() if one[0] not in ("dashscope", "agno", "huggingface_hub")}
    spanhook.instrument(meter_provider=MeterProvider([metrics], shutdown_on_exit=False))

    assert points(metrics) - before == {("dashscope", "1.2.3", "importable"), ("agno", "1.2.3", "importable")}
    importlib.import_module("dashscope")
    assert points(metrics) - before == {("dashscope", "1.2.3", "unbound"), ("agno", "1.2.3", "importable")}
    importlib.import_module("huggingface_hub.inference._client")
    assert ("huggingface_hub", "1.2.3", "unbound") in points(metrics)

    spanhook.instrument(settings=Settings(allow=["dashscope", "agno", "huggingface_hub"]))
    assert points(metrics) - before == set()


def points_of_here() -> set[tuple[str, str, str]]:
    """What is installed where the tests run."""
    found = {(known.library, known.distributions) for known in KNOWN if not known.shared}
    here = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    return {(name, here[one], "importable") for name, distributions in found for one in distributions if one in here}
