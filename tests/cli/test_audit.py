"""``spanhook audit verify``: what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from spanhook.cli.main import cli
from spanhook.store import AuditFile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    log = AuditFile(tmp_path)
    log.write({"kind": "x"})
    log.close()
    return next(tmp_path.iterdir())


def verify(*args: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["audit", "verify", *map(str, args)], standalone_mode=False)
    code = done.return_value if done.exception is None else 2
    return code, done.output


def test_a_whole_file(file: Path) -> None:
    code, said = verify(file)
    assert code == 0
    assert "whole" in said
    assert "it cannot be told" in said


def test_a_changed_file(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"x"', b'"y"'))
    code, said = verify(file)
    assert code == 1
    assert "BAD line 2: changed: the hash is not that of the record" in said
    code, said = verify(file, "--json")
    assert (code, json.loads(said)["whole"]) == (1, False)


def test_a_missing_head(file: Path) -> None:
    assert verify(file, "--head", "0" * 64)[0] == 1


def test_mistakes_of_usage(file: Path) -> None:
    assert verify(file.with_name("none"))[0] == 2
    assert verify(file, "--key-env", "NOT_SET_ANYWHERE")[0] == 2
