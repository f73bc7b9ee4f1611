"""Which steps of CI a change selects: all that it can break, and in four turns every step."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.thinning import a_fifth

ROOT = Path(__file__).parent.parent


sys.path.insert(0, str(ROOT / ".ci"))
graph: Any = importlib.import_module("import_graph")
selection: Any = importlib.import_module("selection")
sys.path.remove(str(ROOT / ".ci"))


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    surroundings = {**os.environ, "SPANHOOK_CI_CACHE": str(tmp_path_factory.mktemp("cache"))}
    listed = subprocess.run(
        ["bash", ".ci/run", "--list"], cwd=ROOT, env=surroundings, capture_output=True, text=True, check=True
    )
    return [line.split()[0] for line in listed.stdout.splitlines()]


def selected(path: str, steps: list[str]) -> set[str]:
    """The steps that run because a file changed, or always."""
    return {*selection.affected(path, steps), *selection.ALWAYS} & {*steps}


# What must catch a change in each package: the steps that run its own tests, and those that use it from outside.
EVERYTHING = {
    "conformance", "conformance-oldest", "slow", "slow-commands", "slow-libraries", "oldest", "control-plane-oldest",
    "worker", "worker-oldest", "pages", "compose", "applications", "foreign", "agent-hooks", "library-crewai-newest",
    "library-aegra-oldest",
}  # fmt: skip
SERVING = {"slow", "oldest", "control-plane", "control-plane-oldest", "worker", "worker-oldest", "pages", "e2e"}
CATCHES = {
    "bootstrap": EVERYTHING,
    "cards": {"slow", "oldest", "readme-tests"},
    "cli": {
        "slow-commands",
        "oldest",
        "compose",
        "conformance",
        "conformance-oldest",
        "library-crewai-newest",
        "readme-demo",
    },
    "concurrency": EVERYTHING,
    "config": EVERYTHING,
    "control_plane": SERVING,
    "definitions": EVERYTHING,
    "engine": EVERYTHING,
    "export": {"slow", "oldest", "e2e"},
    "gating": EVERYTHING,
    "hooks": SERVING | {"presidio", "agent-hooks"},
    "instrument": EVERYTHING,
    "iterations": {"oldest", "readme-tests"},
    "jobs": SERVING,
    "model": EVERYTHING,
    "runs": EVERYTHING,
    "schedules": SERVING,
    "server": SERVING,
    "store": EVERYTHING,
    "telemetry": EVERYTHING,
    "webhooks": SERVING,
}


def test_each_package_has_a_row() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "spanhook").glob("*/__init__.py")}
    assert packages == {*CATCHES}


@pytest.mark.one_value
@pytest.mark.parametrize("package", a_fifth(CATCHES))
def test_a_change_in_a_package_selects_the_steps_that_must_catch_it(package: str, steps: list[str]) -> None:
    names = [path for path in graph.paths() if path.startswith(f"src/spanhook/{package}/")]
    assert CATCHES[package] <= set().union(*(selected(path, steps) for path in names))
    assert CATCHES[package] - {"presidio", "agent-hooks"} <= selected(f"src/spanhook/{package}/__init__.py", steps)


def exercised() -> frozenset[str]:
    scopes = [*selection.SCOPES.values(), *(selection.scope_of(f"library-{path.stem}") for path in libraries())]
    return frozenset[str]().union(*map(selection.exercised, scopes))


def test_each_module_is_exercised_by_a_step() -> None:
    run = exercised()
    ours = {path for path in graph.paths() if path.startswith("src/")}
    assert {path for path in ours if not graph.nodes_of(path) & run} == set()


def test_each_test_is_run_by_a_step() -> None:
    tests = {path for path in graph.paths() if re.fullmatch(r"tests/(.+/)?test_\w+\.py", path)}
    assert tests - exercised() == set()


@pytest.mark.parametrize("name", ["SLOW_COMMANDS", "SLOW_LIBRARIES"])
def test_a_part_of_the_slow_tests_is_what_its_step_runs(name: str) -> None:
    (folders,) = re.findall(rf"^readonly {name}=\((.+)\)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert folders.split() == [f"tests/{one}".rstrip("/") for one in getattr(selection, name).split("|")]


def libraries() -> list[Path]:
    return sorted((ROOT / ".ci" / "libraries").glob("*.txt"))


@pytest.mark.parametrize("library", sorted({path.stem.rpartition("-")[0] for path in libraries()}))
def test_a_change_in_a_library_selects_its_own_steps_and_those_that_have_it_installed(
    library: str, steps: list[str]
) -> None:
    names = [path for path in graph.paths() if path.startswith(f"src/spanhook/instrument/{library}/")]
    names += [path for path in graph.paths() if graph.owner(path) == library]
    found = set().union(*(selection.affected(path, steps) for path in names))
    of_libraries = {step.removeprefix("library-") for step in found if step.startswith("library-")}
    has_it = {path.stem for path in libraries() if library in graph.libraries_in(f".ci/libraries/{path.name}")}
    own = {f"{library}-newest", f"{library}-oldest"}
    assert own <= of_libraries
    assert of_libraries <= own | has_it | users(library)


def users(library: str) -> set[str]:
    """The environments of libraries whose own files import those of another."""
    of = {path: graph.owner(path) for path in graph.paths()}
    using = {of[path] for path in of if any(of[other] == library for other in graph.imports(path))} - {None}
    return {path.stem for path in libraries() if path.stem.rpartition("-")[0] in using}


def test_a_library_that_nothing_else_uses_selects_its_own_steps_alone(steps: list[str]) -> None:
    changed = selection.affected("src/spanhook/instrument/crewai/tools.py", steps)
    assert changed == {"library-crewai-newest", "library-crewai-oldest"}


def test_the_control_plane_selects_no_library(steps: list[str]) -> None:
    changed = selection.affected("src/spanhook/server/routes/runs.py", steps)
    assert not [step for step in changed if step.startswith(("library-", "conformance"))]


def test_four_turns_run_every_step(steps: list[str]) -> None:
    turns = [{step for step, why in selection.select(steps, [], turn).items() if why} for turn in range(4)]
    assert set().union(*turns) == {*steps}
    by_turns = [turn - {*selection.ALWAYS} for turn in turns]
    assert sum(map(len, by_turns)) == len({*steps} - {*selection.ALWAYS})
    assert max(map(len, by_turns)) - min(map(len, by_turns)) <= 1


def test_steps_that_always_run_need_no_change(steps: list[str]) -> None:
    reasons = selection.select(steps, [], 0)
    assert {step for step, why in reasons.items() if why == "always"} == {*selection.ALWAYS} & {*steps}


def test_the_reason_names_the_file(steps: list[str]) -> None:
    reasons = selection.select(steps, ["LICENSE", "src/spanhook/engine/calls.py"], 1)
    assert reasons["oldest"] == "changed: src/spanhook/engine/calls.py"


def test_every_tracked_file_has_a_rule_or_is_in_the_graph() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    unknown = [
        path
        for path in tracked.stdout.splitlines()
        if not graph.nodes_of(path) and not any(re.fullmatch(rule, path) for rule in selection.RULES)
    ]
    assert unknown == []


def test_rules_name_steps_that_exist(steps: list[str]) -> None:
    for path in (".ci/tools", ".ci/oldest.txt", "constraints.txt", "README.md", "docker-compose.yml", "docs/semconv/a"):
        names = next(names for rule, names in selection.RULES.items() if re.fullmatch(rule, path)).split()
        assert {name for name in names if not name.startswith("python-")} <= {*steps}
    for path in (ROOT / ".ci").rglob("*.txt"):
        assert selection.affected(path.relative_to(ROOT).as_posix(), steps)


@pytest.mark.parametrize("path", ["unknown.txt", ".ci/unknown", "unknown/file.py", ".ci/run", "pyproject.toml"])
def test_an_unknown_file_selects_every_step(path: str, steps: list[str]) -> None:
    assert selection.affected(path, steps) == {*steps}


def test_a_deleted_module_selects_the_steps_of_its_package(steps: list[str]) -> None:
    deleted = selection.affected("src/spanhook/engine/gone.py", steps)
    assert deleted == selection.affected("src/spanhook/engine/__init__.py", steps)


def test_data_selects_the_steps_of_the_modules_beside_it(steps: list[str]) -> None:
    assert {"pages", "worker"} <= selection.affected("src/spanhook/server/pages/templates/unknown.html", steps)


def test_settings_of_one_library_select_its_step_alone(steps: list[str]) -> None:
    assert selection.affected(".ci/libraries/crewai-newest.txt", steps) == {"library-crewai-newest"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with two commits, of which origin/main is the first."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setattr(selection, "ROOT", tmp_path)
    monkeypatch.delenv("SPANHOOK_CI_BASE", raising=False)
    monkeypatch.delenv("GITHUB_BASE_REF", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "test")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "test@localhost")
    selection.git("init", "--quiet")
    for name in ("first", "second"):
        selection.git("commit", "--quiet", "--allow-empty", "--message", name)
    selection.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    return tmp_path


def test_the_base_is_main_if_the_change_is_on_top_of_it(repository: Path) -> None:
    assert selection.base() == (selection.git("rev-parse", "HEAD~1"), "")


def test_the_base_is_unknown_on_main_itself(repository: Path) -> None:
    selection.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert selection.base() == ("", "origin/main does not come before this commit")


def test_the_base_is_unknown_if_main_has_gone_on(repository: Path) -> None:
    selection.git("update-ref", "refs/remotes/origin/main", "HEAD")
    selection.git("reset", "--quiet", "--soft", "HEAD~1")
    assert selection.base() == ("", "origin/main has commits that are not here")


def test_the_base_can_be_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANHOOK_CI_BASE", "HEAD")
    assert selection.base() == (selection.git("rev-parse", "HEAD"), "")
    monkeypatch.setenv("SPANHOOK_CI_BASE", "nowhere")
    assert selection.base() == ("", "nowhere is not a commit here")


def test_everything_runs_if_the_base_is_unknown(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = ["slow", "oldest", "pages", "compose", "lint"]
    monkeypatch.setenv("SPANHOOK_CI_BASE", "nowhere")
    selection.main(steps)
    reasons = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    turn = int(selection.git("rev-list", "--first-parent", "--count", "HEAD")) % 4
    others = [step for step in steps[:4] if step != steps[turn]]
    assert reasons == [
        ["lint", "always"],
        [steps[turn], f"turn {turn + 1} of 4"],
        *([step, "everything, as nowhere is not a commit here"] for step in others),
    ]
