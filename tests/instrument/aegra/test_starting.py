"""Hooks that Aegra's configuration names: they are active however Aegra finds it, or Aegra does not start."""

import json
import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

from spanhook.config import locate_aegra
from tests.commands import SPANHOOK, Folder
from tests.instrument.aegra.serving import AUTH, CONFIG, GRAPH, databases, said, serving
from tests.ports import free_port

GATE = """
from spanhook.runs import RunHooks

hooks = RunHooks()

@hooks.before_run
async def gate(ctx):
    raise hooks.RejectRun("not paid", 402)
"""
NAMED = json.dumps({**CONFIG, "hooks": {"path": "./hooks.py:hooks", "timeout": 5}})
BARE = json.dumps(CONFIG)
PROD = {"AEGRA_CONFIG": "conf/prod.json"}

# The way that `aegra serve -c FILE` does it: its own process does not know the file until it starts the server's.
SERVE = """
import os, sys

os.environ["AEGRA_CONFIG"] = sys.argv[1]
os.execv(sys.executable, [sys.executable, "-m", "uvicorn", *sys.argv[2:]])
"""

# A file that is named once spanhook is active, in the same process.
LATE = """
import os

os.environ["AEGRA_CONFIG"] = "conf/prod.json"
from aegra_api.main import app
"""

# An application that instruments itself, without `spanhook run`.
ITSELF = """
import os
import spanhook
from spanhook.runs import from_aegra

spanhook.instrument(from_aegra("aegra.json") if "WITH" in os.environ else None)
from aegra_api.main import app
"""


@pytest.mark.parametrize("value", [None, "", "conf/prod.json", "missing.json", "~/prod.json"])
@pytest.mark.parametrize("files", [("aegra.json", "langgraph.json"), ("langgraph.json",), ()])
def test_aegra_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], value: str | None
) -> None:
    config, settings = import_module("aegra_api.config"), import_module("aegra_api.settings")
    folder = Folder(tmp_path)
    for name in (*files, "conf/prod.json"):
        folder.file(name, NAMED)
    monkeypatch.chdir(tmp_path)
    environ = {} if value is None else {"Aegra_Config": value}
    for name, text in environ.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(config.settings, "app", settings.AppSettings())
    found = config._resolve_config_path()

    assert locate_aegra(str(tmp_path), environ) == ("" if found is None else str(tmp_path / found))


def written(path: Path, files: dict[str, str]) -> Folder:
    folder = Folder(path)
    for name, text in files.items():
        folder.file(name, text)
        folder.write(
            **{os.path.join(os.path.dirname(name), module).replace("/", "__"): text for module, text in MODULES.items()}
        )
    return folder.write(serve=SERVE, late=LATE, itself=ITSELF)


MODULES = {"graph": GRAPH, "auth": AUTH, "hooks": GATE}
RUN = (*SPANHOOK, "run", "--require", "aegra", "--")
PYTHON = (sys.executable,)
UVICORN = (*PYTHON, "-m", "uvicorn")
MAIN = (*UVICORN, "aegra_api.main:app")
OPENTELEMETRY = (str(Path(sys.executable).with_name("opentelemetry-instrument")),)


@pytest.mark.parametrize(
    ("files", "command", "env"),
    [
        pytest.param({"aegra.json": NAMED}, (*RUN, *MAIN), {}, id="its own file"),
        pytest.param({"langgraph.json": NAMED, "spanhook.yaml": "version: 1\n...\n"}, (*RUN, *MAIN), {}, id="fallback"),
        pytest.param({"conf/prod.json": NAMED, "aegra.json": BARE}, (*RUN, *MAIN), PROD, id="the variable"),
        pytest.param(
            {"conf/prod.json": NAMED, "aegra.json": BARE},
            (*RUN, *PYTHON, "serve.py", "conf/prod.json", "aegra_api.main:app"),
            {},
            id="set for the server alone",
        ),
        pytest.param({"aegra.json": NAMED}, (*OPENTELEMETRY, *MAIN), {}, id="opentelemetry-instrument"),
        pytest.param({"aegra.json": NAMED}, (*UVICORN, "itself:app"), {"WITH": "1"}, id="in code"),
    ],
)
def test_they_are_active(
    tmp_path: Path, postgres: int, files: dict[str, str], command: tuple[str, ...], env: dict[str, str]
) -> None:
    with serving(written(tmp_path, files), command, postgres, **env) as app:
        answer = app.post(f"/threads/{app.thread()}/runs/wait", said("hi"))
        assert (answer.status, answer.json["message"]) == (402, "not paid")
        assert app.began() == []


@pytest.mark.parametrize(
    ("files", "command"),
    [
        pytest.param(
            {"conf/prod.json": NAMED, "aegra.json": BARE},
            (*SPANHOOK, "run", "--", *UVICORN, "late:app"),
            id="named too late",
        ),
        pytest.param({"aegra.json": NAMED}, (*UVICORN, "itself:app"), id="left out in code"),
    ],
)
def test_aegra_does_not_start_without_them(
    tmp_path: Path, postgres: int, files: dict[str, str], command: tuple[str, ...]
) -> None:
    folder = written(tmp_path, files)
    ran = folder.run(*command, "--host", "127.0.0.1", "--port", str(free_port()), **databases(postgres))
    assert ran.returncode != 0
    (path,) = (tmp_path / name for name, text in files.items() if text == NAMED)
    assert (
        f"{path} names hooks that are not active: './hooks.py:hooks'; start the server with" in ran.stdout + ran.stderr
    )
