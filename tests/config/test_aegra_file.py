"""Hooks that Aegra's configuration names, through all commands and the processes that they start. Aegra is not used."""

import json
from pathlib import Path

import pytest

from tests.commands import Folder

GATE = """
from spanhook.runs import RunHooks

hooks, others = RunHooks(), RunHooks()

@hooks.before_run
async def gate(ctx):
    raise hooks.RejectRun("of Aegra's file", 402)

@others.before_run
async def other(ctx):
    print("other", end=" ")
"""

APP = """
from spanhook.runs import RejectRun, run_scope

try:
    with run_scope("agent"):
        print("ungated")
except RejectRun as error:
    print(error)
"""

CHILD = """
import os, subprocess, sys

for name, value in (pair.split("=") for pair in sys.argv[2:]):
    os.environ[name] = value
subprocess.run([sys.executable, os.path.abspath("app.py")], cwd=sys.argv[1], check=True)
"""

NAMED = json.dumps({"graphs": {"agent": "./g.py:g"}, "hooks": {"path": "./hooks.py:hooks", "timeout": 5}})
BARE = '{"graphs": {}}'
FILE = "version: 1\n...\n"
TABLE = "[tool.spanhook]\nversion = 1\n"
PROD = {"AEGRA_CONFIG": "conf/prod.json"}
GATED, UNGATED = "of Aegra's file\n", "ungated\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path).write(hooks=GATE, conf__hooks=GATE, elsewhere__hooks=GATE, app=APP, child=CHILD)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "env", "arguments", "printed"),
    [
        pytest.param({"aegra.json": NAMED}, {}, (), GATED, id="aegra.json"),
        pytest.param({"langgraph.json": NAMED}, {}, (), GATED, id="langgraph.json", marks=pytest.mark.slow),
        pytest.param({"conf/prod.json": NAMED, "aegra.json": BARE}, PROD, (), GATED, id="AEGRA_CONFIG"),
        pytest.param(
            {"conf/prod.conf": NAMED},
            {"AEGRA_CONFIG": "conf/prod.conf"},
            (),
            GATED,
            id="of any name",
            marks=pytest.mark.slow,
        ),
        pytest.param({"conf/prod.json": BARE, "aegra.json": NAMED}, PROD, (), UNGATED, id="AEGRA_CONFIG without hooks"),
        pytest.param({"aegra.json": NAMED, "spanhook.yaml": FILE}, {}, (), GATED, id="beside spanhook.yaml"),
        pytest.param(
            {"langgraph.json": NAMED, "pyproject.toml": TABLE},
            {},
            (),
            GATED,
            id="beside a table",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"aegra.json": NAMED},
            {"SPANHOOK_CONFIG": ""},
            (),
            GATED,
            id="with no configuration file",
            marks=pytest.mark.slow,
        ),
        pytest.param({"aegra.json": NAMED}, {}, ("--hooks", "hooks.py:others"), "other " + GATED, id="beside --hooks"),
    ],
)
def test_they_are_active(
    folder: Folder, files: dict[str, str], env: dict[str, str], arguments: tuple[str, ...], printed: str
) -> None:
    for name, text in files.items():
        folder.file(name, text)

    ran = folder.spanhook("run", *arguments, "app.py", **env)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, printed, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "arguments", "printed"),
    [
        pytest.param({"aegra.json": NAMED}, ("conf",), GATED, id="of the parent"),
        pytest.param(
            {"aegra.json": NAMED, "elsewhere/aegra.json": BARE},
            ("elsewhere",),
            GATED,
            id="has none",
            marks=pytest.mark.slow,
        ),
        pytest.param({"elsewhere/langgraph.json": NAMED}, ("elsewhere",), GATED, id="has its own"),
        pytest.param(
            {"conf/prod.json": NAMED},
            (".", "AEGRA_CONFIG=conf/prod.json"),
            GATED,
            id="named for it",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"conf/prod.json": BARE, "aegra.json": NAMED},
            (".", "AEGRA_CONFIG=conf/prod.json"),
            UNGATED,
            id="named for it, without hooks",
        ),
        pytest.param(
            {"conf/prod.json": NAMED, "spanhook.yaml": FILE},
            (".", "AEGRA_CONFIG=conf/prod.json"),
            GATED,
            id="beside",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_they_are_active_in_children(
    folder: Folder, files: dict[str, str], arguments: tuple[str, ...], printed: str
) -> None:
    for name, text in files.items():
        folder.file(name, text)

    ran = folder.spanhook("run", "child.py", *arguments)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, printed, "")


@pytest.mark.slow
@pytest.mark.parametrize("beside", [{}, {"spanhook.yaml": FILE}], ids=["alone", "beside spanhook.yaml"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            NAMED.replace("hooks.py", "gone.py"),
            "langgraph.json:1: hooks.path: '{}/gone.py:hooks': the file {}/gone.py does not exist",
        ),
        (
            NAMED.replace(":hooks", ":gone"),
            "langgraph.json:1: hooks.path: '{}/hooks.py:gone': {}/hooks.py has no 'gone'",
        ),
        ('{"hooks": "hooks.py:hooks"}', "langgraph.json:1: hooks: 'hooks.py:hooks': expected keys and values"),
        ('{"hooks": {"path": ', "langgraph.json may name hooks, but is not valid JSON"),
    ],
)
def test_nothing_starts_if_they_cannot_be_loaded(
    folder: Folder, beside: dict[str, str], text: str, message: str
) -> None:
    for name, content in {"langgraph.json": text, **beside}.items():
        folder.file(name, content)

    ran = folder.spanhook("run", "app.py")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert message.replace("{}", str(folder.path)) in ran.stderr
    doctor = folder.here("doctor")
    assert doctor.returncode == 2
    assert message.replace("{}", str(folder.path)) in doctor.stdout


@pytest.mark.one_value
@pytest.mark.parametrize("beside", [{}, {"spanhook.yaml": FILE}], ids=["alone", "beside spanhook.yaml"])
def test_the_file_is_shown(folder: Folder, beside: dict[str, str]) -> None:
    for name, content in {"langgraph.json": NAMED, **beside}.items():
        folder.file(name, content)

    shown = json.loads(folder.here("config", "show", "--json").stdout)
    report = json.loads(folder.here("doctor", "--json").stdout)
    people = folder.here("doctor").stdout

    assert {"name": "langgraph.json", "value": "", "origin": "Aegra's configuration"} in shown["file"]
    assert [(row["name"], row["origin"]) for row in shown["hooks"]] == [
        (f"{folder.path}/hooks.py:hooks", "langgraph.json:1")
    ]
    assert report["aegra"] == str(folder.path / "langgraph.json")
    assert [hook["name"] for hook in report["hooks"]] == ["gate"]
    assert f"Aegra's configuration (its hooks are active)\n  {folder.path}/langgraph.json\n" in people
