"""``spanhook demo --serve`` as a user starts it."""

import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from spanhook.cli.demo.serving import CONTENT, environment, open_page
from spanhook.cli.main import cli


@contextmanager
def demo(folder: Path, *options: str) -> Generator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "spanhook", "demo", "--serve", "--port", "0", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_runs_are_in_the_control_plane_until_ctrl_c(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        assert process.stdout is not None
        address = ""
        for line in process.stdout:
            found = re.search(r"The runs are at (http://127\.0\.0\.1:\d+)/runs", line)
            if found is not None:
                address = found[1]
                break
        assert address, process.communicate()
        with httpx.Client(base_url=address, timeout=60) as client:
            runs = client.get("/v1/runs").json()["runs"]
            assert [one["status"] for one in reversed(runs)] == [
                "success", "success", "rejected", "interrupted", "success", "success"
            ]  # fmt: skip
            assert {one["service"] for one in runs} == {"spanhook-demo"}
            assert client.get("/v1/decisions").json()["decisions"]
            assert client.get("/v1/usage").json()["usage"][0]["cost_usd"] > 0
            assert "Where is my order 1001?" in client.get(f"/runs/{runs[-1]['id']}").text
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "Traceback" not in errors
    assert (tmp_path / "spanhook.db").is_file()


def test_a_demo_that_fails_ends_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with demo(tmp_path, "--live") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "needs a key" in errors


def test_telemetry_goes_to_the_server_alone() -> None:
    theirs = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://elsewhere", "OTEL_SDK_DISABLED": "true", "PATH": "/bin"}
    found = environment(theirs, "http://127.0.0.1:1")
    assert "elsewhere" not in str(found)
    assert "OTEL_SDK_DISABLED" not in found
    assert (found["PATH"], found["OTEL_EXPORTER_OTLP_ENDPOINT"]) == ("/bin", "http://127.0.0.1:1")
    assert found[CONTENT] == "SPAN_ONLY"
    assert environment({CONTENT: "NO_CONTENT"}, "")[CONTENT] == "NO_CONTENT"


def test_no_browser_is_started_without_a_terminal() -> None:
    assert not open_page("http://127.0.0.1:1", {"DISPLAY": ":0"})


@pytest.mark.parametrize("wrong", [["--json", "--serve"], ["--port", "1"], ["--database", "sqlite:///x.db"]])
def test_options_that_do_not_fit_are_refused(wrong: list[str]) -> None:
    assert CliRunner().invoke(cli, ["demo", *wrong]).exit_code == 2
