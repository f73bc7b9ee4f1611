"""Which file is meant where none is named."""

from pathlib import Path

import pytest

from spanhook import ConfigurationError
from spanhook.config import locate
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
        ({"aegra.json": HOOKS}, "aegra.json"),
        ({"aegra.json": '{"graphs": {"hooks": 1}}'}, ""),
        ({"aegra.json": "{}"}, ""),
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
        ({"aegra.json": '{"hooks": '}, "aegra.json may name hooks, but is not valid JSON"),
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

    assert locate(str(tmp_path)) == ""
