"""Which file is meant where none is named."""

from pathlib import Path

import pytest

from spanhook import ConfigurationError
from spanhook.config import locate, locate_aegra
from tests.config.conftest import Write

TABLE = "[tool.spanhook]\nversion = 1\n"
HOOKS = '{"graphs": {}, "hooks": {"path": "./hooks.py:hooks"}}'


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, ""),
        ({"spanhook.yaml": ""}, "spanhook.yaml"),
        ({"spanhook.yml": ""}, "spanhook.yml"),
        ({"pyproject.toml": TABLE}, "pyproject.toml"),
        ({"pyproject.toml": "[tool.spanhook.hooks]\npath = 'x'\n"}, "pyproject.toml"),
        ({"pyproject.toml": "[tool]\nspanhook = {version = 1}\n"}, "pyproject.toml"),
        ({"pyproject.toml": "[project]\nname = 'spanhook'\n"}, ""),
        ({"pyproject.toml": "[project]\nname = 'spanhook\n"}, ""),
        ({"pyproject.toml": "tool = 'spanhook'\n"}, ""),
        ({"aegra.json": HOOKS}, ""),
        ({"spanhook.yaml": "", "pyproject.toml": "[tool.ruff]\n"}, "spanhook.yaml"),
        ({"spanhook.yaml": "", "aegra.json": HOOKS}, "spanhook.yaml"),
        ({"pyproject.toml": TABLE, "aegra.json": HOOKS}, "pyproject.toml"),
    ],
)
def test_the_file_of_a_folder(write: Write, tmp_path: Path, files: dict[str, str], found: str) -> None:
    for name, text in files.items():
        write(text, name)

    assert locate(str(tmp_path)) == (str(tmp_path / found) if found else "")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"spanhook.yaml": "", "spanhook.yml": ""},
            "spanhook.yaml and spanhook.yml are both configuration",
        ),
        (
            {"spanhook.yaml": "", "pyproject.toml": TABLE},
            "spanhook.yaml and pyproject.toml are both configuration",
        ),
        ({"pyproject.toml": "[tool.spanhook]\nmode = \n"}, "pyproject.toml:2: is not valid TOML"),
    ],
)
def test_what_may_be_meant_is_not_passed_over(
    write: Write, tmp_path: Path, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        write(text, name)

    with pytest.raises(ConfigurationError, match=message):
        locate(str(tmp_path))


def test_folders_of_these_names_are_no_files(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "aegra.json"):
        (tmp_path / name).mkdir()

    assert locate(str(tmp_path)) == locate_aegra(str(tmp_path), {}) == ""


BARE = '{"graphs": {"hooks": 1}}'
PARENTS = {"SPANHOOK_AEGRA": "/of/the/parent/aegra.json"}


@pytest.mark.parametrize(
    ("files", "environ", "found"),
    [
        ({}, {}, ""),
        ({"aegra.json": HOOKS}, {}, "aegra.json"),
        ({"aegra.json": BARE}, {}, ""),
        ({"aegra.json": "{}"}, {}, ""),
        ({"aegra.json": "not JSON"}, {}, ""),
        ({"aegra.json": r'{"h\u006foks": {"path": "./hooks.py:hooks"}}'}, {}, "aegra.json"),
        ({"langgraph.json": HOOKS}, {}, "langgraph.json"),
        ({"langgraph.json": HOOKS, "aegra.json": BARE}, {}, ""),
        ({"conf/prod.json": HOOKS}, {"AEGRA_CONFIG": "conf/prod.json"}, "conf/prod.json"),
        ({"conf/prod.conf": HOOKS}, {"aegra_config": "conf/prod.conf"}, "conf/prod.conf"),
        ({"prod.json": HOOKS, "aegra.json": BARE}, {"AEGRA_CONFIG": "prod.json"}, "prod.json"),
        ({"prod.json": BARE, "aegra.json": HOOKS}, {"AEGRA_CONFIG": "prod.json"}, ""),
        ({"aegra.json": HOOKS}, {"AEGRA_CONFIG": "missing.json"}, "aegra.json"),
        ({"langgraph.json": HOOKS}, {"AEGRA_CONFIG": "~/prod.json"}, "langgraph.json"),
        ({"aegra.json": HOOKS}, {"AEGRA_CONFIG": ""}, "aegra.json"),
        ({}, PARENTS, "/of/the/parent/aegra.json"),
        ({"aegra.json": BARE}, PARENTS, "/of/the/parent/aegra.json"),
        ({"aegra.json": HOOKS}, PARENTS, "aegra.json"),
        ({"prod.json": HOOKS}, {**PARENTS, "AEGRA_CONFIG": "prod.json"}, "prod.json"),
        ({"prod.json": BARE}, {**PARENTS, "AEGRA_CONFIG": "prod.json"}, ""),
    ],
)
def test_aegras_file(write: Write, tmp_path: Path, files: dict[str, str], environ: dict[str, str], found: str) -> None:
    """It is the one that Aegra itself finds, if it names hooks."""
    (tmp_path / "conf").mkdir()
    for name, text in files.items():
        write(text, name)

    assert locate_aegra(str(tmp_path), environ) == (str(tmp_path / found) if found else "")


def test_aegras_file_may_not_be_cut_short(write: Write, tmp_path: Path) -> None:
    write('{"hooks": ', "aegra.json")

    with pytest.raises(ConfigurationError, match=r"aegra\.json may name hooks, but is not valid JSON"):
        locate_aegra(str(tmp_path), {})
