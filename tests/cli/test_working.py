from pathlib import Path

import pytest
from click.testing import CliRunner

from spanhook.cli.main import cli

QUEUE = ("--queue", "redis://127.0.0.1:9/0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "a worker needs a queue; give --queue"),
        (QUEUE, "a worker needs agents; give --agent"),
        ((*QUEUE, "--agent", "support"), "--agent support: expected NAME=TARGET"),
        ((*QUEUE, "--agent", "support=./no.py:graph"), "no.py"),
        (("--config", "no.yaml"), "the configuration file 'no.yaml' does not exist"),
    ],
)
def test_what_it_lacks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["worker", *arguments], standalone_mode=False)
    assert said in str(done.exception)


def test_a_queue_that_is_none_keeps_the_server_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["serve", "--port", "0", "--queue", "sqlite:///jobs.db"]
    done = CliRunner().invoke(cli, given, standalone_mode=False)
    assert "cannot be used; expected redis://HOST:PORT/NUMBER or postgresql://HOST/NAME" in str(done.exception)


def test_its_help_says_what_its_options_mean() -> None:
    done = CliRunner().invoke(cli, ["worker", "--help"])
    assert done.exit_code == 0
    for option in ("--queue", "--database", "--config", "--agent", "--concurrency", "--lease", "--drain"):
        assert option in done.output
