"""What stands around the code: changelog, forms, workflows, and that no address is given which nobody owns."""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanhook.version import HOME, __version__

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
FOLDERS = (".ci", ".github", "benchmarks", "collector", "docs", "examples", "grafana", "src", "tests")
TEXT = {".ipynb", ".json", ".md", ".py", ".sh", ".toml", ".yaml", ".yml", ""}

_ADDRESS = re.compile(r"https?://([^\s\"'<>)`\]]+)")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def texts() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in TEXT and path.is_file())
    yield from (path for path in ROOT.iterdir() if path.suffix in TEXT and path.is_file() and path.name != ".coverage")


def is_ours(address: str) -> bool:
    """Whether an address would be the project's own home, by its host or its owner."""
    host, _, rest = address.partition("/")
    return "spanhook" in host.split(":")[0] or rest.split("/")[0] == "spanhook"


def test_no_address_is_given_that_nobody_owns() -> None:
    found = [
        (str(path.relative_to(ROOT)), address)
        for path in texts()
        for address in _ADDRESS.findall(path.read_text())
        if is_ours(address) and not (HOME and address.startswith(HOME.partition("://")[2]))
    ]
    assert found == []


def test_the_changelog_begins_with_this_version() -> None:
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1].split()[0] == __version__


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_something_by_distinct_names(form: Path) -> None:
    asked = read(form)
    fields = [field for field in asked["body"] if field["type"] != "markdown"]
    assert asked["name"]
    assert asked["description"]
    assert {field["type"] for field in fields} <= {"checkboxes", "dropdown", "input", "textarea"}
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in read(workflow)["jobs"].values():
        yield from job.get("steps", ())


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_was_read_and_may_little(workflow: Path) -> None:
    assert read(workflow)["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), step
        assert "secrets." not in str(step)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_steps_that_exist(workflow: Path) -> None:
    known = re.findall(r'^    echo "([\w-]+)  +', (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    named = [name for step in steps(workflow) for name in re.findall(r"\.ci/run ([a-z][\w-]*)", step.get("run", ""))]
    assert set(named) <= set(known)


def test_all_steps_run_on_tags_and_by_night_and_those_that_a_change_needs_otherwise() -> None:
    jobs = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    plan, run = (next(step for step in jobs[name]["steps"] if ".ci/run" in step.get("run", "")) for name in jobs)
    assert plan["env"]["WHICH"].endswith("&& '--plan' || '--list' }}")
    assert "github.ref_type == 'branch'" in plan["env"]["WHICH"]
    assert run["env"]["STEP"] == "${{ matrix.step }}"


def test_only_what_publishes_may_say_who_it_is() -> None:
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    trusted = {name: job["environment"] for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    assert trusted == {"publish": "pypi"}
    assert set(jobs["publish"]["needs"]) == {"build", "ci"}
    assert [step["uses"].partition("@")[0] for step in jobs["publish"]["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


def test_commits_are_checked_with_what_is_installed() -> None:
    repositories = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    assert {hook["language"] for hook in repositories[0]["hooks"]} == {"system"}


INSTALLS = runpy.run_path(str(ROOT / ".ci" / "installs.py"))


def named(targets: Any) -> set[str]:
    return {str(target) for target in targets}


def test_installs_are_tried_for_each_extra_and_each_combination_in_the_docs() -> None:
    extras = INSTALLS["read_extras"]((ROOT / "pyproject.toml").read_text())
    targets = INSTALLS["all_targets"](extras)
    assert {f"spanhook[{extra}]" for extra in extras if extra} <= named(targets)
    assert "spanhook[langgraph-api] langgraph-cli[inmem]" in named(targets)
    assert "spanhook[demo,server]" in named(targets)
    assert {extra for target in targets for extra in target.extras} <= set(extras)
    outermost = named(INSTALLS["outermost"](targets, extras))
    assert {"spanhook[all]", "spanhook[dev]", "spanhook[strands]"} <= outermost
    assert not {"spanhook[test]", "spanhook[openai]", "spanhook[langgraph-api]"} & outermost


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('`pip install "spanhook[redis]"` |', {"spanhook[redis]"}),
        ('.venv/bin/pip install -e ".[demo]" && .venv/bin/spanhook demo', {"spanhook[demo]"}),
        ('pip install "path/to/this/checkout[prices]"   # beside langgraph', {"spanhook[prices]"}),
        ('pip install -c .ci/oldest.txt -e ".[test]" && pytest', {"spanhook[test]"}),
        ('pip install "spanhook[b,a]" "other[x]>=1"', {"spanhook[a,b] other[x]>=1", "spanhook[a,b]"}),
        ("with `.[demo,server]`, and `pydantic-ai-slim[openai]` apart", {"spanhook[demo,server]"}),
        ("pip install other", set[str]()),
    ],
)
def test_combinations_are_read_from_text(text: str, expected: set[str]) -> None:
    assert named(INSTALLS["targets_in"](text)) == expected


def test_a_changed_requirement_changes_what_contains_it() -> None:
    project = (
        '[project]\ndependencies = []\n[project.optional-dependencies]\na = ["x>={}"]\nb = ["spanhook[a]"]\nc = ["z"]'
    )
    before, after = (INSTALLS["read_extras"](project.format(version)) for version in (1, 2))
    targets = [INSTALLS["Target"]((extra,)) for extra in "abc"]
    changed = [one for one in targets if INSTALLS["requirements"](one, before) != INSTALLS["requirements"](one, after)]
    assert named(changed) == {"spanhook[a]", "spanhook[b]"}
