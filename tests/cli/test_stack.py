"""``spanhook up``, ``down`` and ``status``, with an engine that only keeps what it is told and services that answer."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from spanhook.cli.conformance.servers.loopback import serving
from spanhook.cli.stack.files import NAME, PROFILES, compose_file
from spanhook.cli.stack.services import DASHBOARDS, OTLP_GRPC, OTLP_HTTP, SERVICES, Service, asked
from spanhook.errors import ConfigurationError
from tests.commands import SPANHOOK
from tests.forking import children
from tests.yaml_files import load_file

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = load_file(ROOT / NAME)

STATE = {"POSTGRES_PASSWORD": "of-a-database", "REDIS_PASSWORD": "of-a-store"}

ENGINE = """#!{python}
import json, os, sys
called = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
with open({calls!r}, "a") as calls:
    calls.write(json.dumps([called, os.environ.get("GRAFANA_ADMIN_PASSWORD")]) + "\\n")
print("the engine speaks")
sys.exit(1 if " ".join(called).startswith(tuple({failing!r})) else 0)
"""


class Place:
    """A folder to work in, and the only folder where commands are found."""

    def __init__(self, path: Path) -> None:
        self.work, self.bin, self._calls = path / "work", path / "bin", path / "calls"
        self.work.mkdir()
        self.bin.mkdir()

    def engine(self, name: str, *failing: str) -> None:
        """Put a command there that keeps how it is called; calls that start so fail."""
        script = self.bin / name
        script.write_text(
            ENGINE.format(python=sys.executable, calls=str(self._calls), failing=list(failing) or ["no call"])
        )
        script.chmod(0o755)

    def stack(self, name: str = "spanhook") -> Path:
        """Put a compose file there."""
        path = self.work / NAME
        path.write_text(f"name: {name}\nservices: {{}}\n")
        (self.work / "pyproject.toml").touch()
        return path

    def calls(self) -> list[tuple[list[str], str | None]]:
        """How commands were called, but to ask whether there is an engine."""
        if not self._calls.exists():
            return []
        calls = [json.loads(line) for line in self._calls.read_text().splitlines()]
        return [(words, password) for words, password in calls if words[-1] not in ("version", "info", "ls")]

    def run(self, *arguments: str, folder: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        env = {**_without_passwords(), "PATH": str(self.bin), **environ}
        return children.run(*SPANHOOK[1:], *arguments, cwd=folder or self.work, env=env)


def _without_passwords() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.endswith("PASSWORD")}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@contextmanager
def answering(codes: Sequence[int] = (200,)) -> Generator[str, None, None]:
    """A service that answers with these codes, one after the other, then with the last."""
    left = list(codes)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with serving(Handler) as url:
        yield url


@pytest.fixture
def elsewhere() -> Generator[list[str], None, None]:
    """Options that say where services are that answer: Loki is not ready when it is asked first."""
    with ExitStack() as running:
        yield [
            option
            for service in SERVICES
            for codes in [(503, 200) if service.name == "loki" else (200,)]
            for option in ("--address", f"{service.name}={running.enter_context(answering(codes))}")
        ]


# --------------------------------------------------------------------------- up


@pytest.mark.slow
def test_up_starts_the_file_waits_and_tells_where_everything_is(place: Place, elsewhere: list[str]) -> None:
    place.engine("docker")
    path = place.stack()
    ran = place.run("up", *elsewhere)
    assert ran.returncode == 0, ran.stderr
    assert place.calls() == [
        (["docker", "compose", "--file", str(path), "up", "--detach", "--remove-orphans"], None),
    ]
    ready = re.findall(r"^(\w+) is ready after \d+ s$", ran.stderr, re.MULTILINE)
    assert sorted(ready) == sorted(service.name for service in SERVICES)
    assert ready[-1] == "loki"
    grafana = next(option.partition("=")[2] for option in elsewhere if option.startswith("grafana="))
    for uid in DASHBOARDS.values():
        assert f"{grafana}/d/{uid}\n" in ran.stdout
    assert "for the user admin with GRAFANA_ADMIN_PASSWORD\n" in ran.stdout
    assert f"export OTEL_EXPORTER_OTLP_ENDPOINT={OTLP_HTTP}\n" in ran.stdout
    assert OTLP_GRPC in ran.stdout
    assert "Not ready" not in ran.stdout


@pytest.mark.slow
def test_up_passes_profiles_and_a_file(place: Place, elsewhere: list[str]) -> None:
    place.engine("docker")
    path = place.stack()
    folder = place.work / "deeper"
    folder.mkdir()
    ran = place.run(
        "up", "--file", str(path), "--profile", "demo", "--profile", "state", *elsewhere, folder=folder, **STATE
    )
    assert ran.returncode == 0, ran.stderr
    ((words, _),) = place.calls()
    assert words[2:8] == ["--file", str(path), "--profile", "demo", "--profile", "state"]


@pytest.mark.slow
def test_up_finds_the_file_above(place: Place, elsewhere: list[str]) -> None:
    place.engine("docker")
    path = place.stack()
    folder = place.work / "src" / "deep"
    folder.mkdir(parents=True)
    assert place.run("up", *elsewhere, folder=folder).returncode == 0
    assert place.calls()[0][0][3] == str(path)


@pytest.mark.slow
def test_a_file_of_somebody_else_is_passed_over(place: Place, elsewhere: list[str]) -> None:
    place.engine("docker")
    place.stack("shop")
    (place.work / ".env").write_text("GRAFANA_ADMIN_PASSWORD=x\n")
    assert place.run("up", *elsewhere).returncode == 0
    words = place.calls()[0][0]
    assert words[3] == str(ROOT / NAME)
    assert words[4:6] == ["--env-file", str(place.work / ".env")]


def test_up_gives_up_after_the_timeout_and_names_who_is_silent(place: Place) -> None:
    place.engine("docker")
    place.stack()
    nobody = [option for one in SERVICES for option in ("--address", f"{one.name}=http://127.0.0.1:9")]
    with answering([503]) as busy:
        ran = place.run("up", "--timeout", "0.2", *nobody, "--address", f"tempo={busy}")
    assert ran.returncode == 1
    assert re.search(r"^tempo +http://127.0.0.1:\d+ +answers 503, not ready yet$", ran.stdout, re.MULTILINE)
    assert re.search(r"^grafana +http://127.0.0.1:9 +nobody listens$", ran.stdout, re.MULTILINE)
    assert "Not ready: collector, prometheus, alertmanager, tempo, loki, grafana." in ran.stdout


@pytest.mark.slow
def test_progress_is_one_line_on_a_terminal(place: Place, elsewhere: list[str]) -> None:
    place.engine("docker")
    place.stack()
    ours, theirs = pty.openpty()
    ran = subprocess.run(
        [*SPANHOOK, "up", *elsewhere],
        cwd=place.work,
        env={**_without_passwords(), "PATH": str(place.bin)},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        timeout=60,
        check=False,
    )
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    assert ran.returncode == 0
    assert "waiting for loki" in said
    assert re.search(r"6 of 6 ready after \d+ s\r\n$", said)
    assert said.count("\n") == 1


def test_what_the_engine_says_is_shown_and_its_failure_told(place: Place) -> None:
    place.engine("docker", "docker compose --file")
    place.stack()
    ran = place.run("up")
    assert ran.returncode == 1
    assert ran.stdout == "the engine speaks\n"
    assert ran.stderr == "spanhook: docker compose up failed with exit code 1\n"


# --------------------------------------------------------------------------- which engine


def test_without_an_engine(place: Place) -> None:
    place.stack()
    for command, advice in (("up", "; spanhook run --console shows runs without one"), ("down", "")):
        ran = place.run(command)
        assert (ran.returncode, ran.stdout) == (2, "")
        looked = "looked for docker compose, podman compose, docker-compose"
        assert ran.stderr == f"spanhook: no container engine found ({looked}){advice}\n"


def test_a_command_without_an_engine_behind_it_is_no_engine(place: Place) -> None:
    place.engine("docker", "docker info")
    place.stack()
    ran = place.run("up")
    assert ran.returncode == 2
    assert ran.stderr == (
        "spanhook: no container engine answers (docker info failed); spanhook run --console shows runs without one\n"
    )


def _engine_that_says(place: Place, name: str, said: str) -> None:
    """A command that answers all with this and an error."""
    (place.bin / name).write_text(f"#!/bin/sh\nprintf '%s' {shlex.quote(said)} >&2; exit 1\n")
    (place.bin / name).chmod(0o755)


def test_what_the_command_says_is_why_there_is_no_engine(place: Place) -> None:
    place.stack()
    _engine_that_says(place, "docker", "cannot read its settings\n\nRun docker --help\n")
    ran = place.run("down")
    assert (ran.returncode, ran.stdout) == (2, "")
    said = "docker compose version failed: cannot read its settings"
    assert ran.stderr == f"spanhook: no container engine answers ({said})\n"


@pytest.mark.parametrize(
    ("name", "said", "advice"),
    [
        (
            "podman",
            "Error: unrecognized command `podman compose`\nTry 'podman --help' for more information\n",
            "podman has compose from 4.7 on: install that, or docker-compose and set DOCKER_HOST to podman's socket",
        ),
        (
            "podman",
            "Error: looking up compose provider failed\n7 errors occurred:\n",
            "podman compose needs docker-compose: install it",
        ),
        ("docker", "docker: unknown command: docker compose\n", "docker has no compose: install its compose plugin"),
        ("docker", "docker: 'compose' is not a docker command.\n", "docker has no compose: install its compose plugin"),
    ],
    ids=["podman 4.3", "podman 5 alone", "docker 28", "docker 20"],
)
def test_engines_without_compose_are_told_what_helps(place: Place, name: str, said: str, advice: str) -> None:
    place.stack()
    _engine_that_says(place, name, said)
    ran = place.run("down")
    assert (ran.returncode, ran.stderr) == (2, f"spanhook: no container engine answers ({advice})\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("there", "used"),
    [
        ({"docker": (), "podman": (), "docker-compose": ()}, ["docker", "compose"]),
        ({"docker": ("docker compose version",), "podman": ()}, ["podman", "compose"]),
        ({"docker": ("docker info",), "podman": ("podman compose",), "docker-compose": ()}, ["docker-compose"]),
    ],
    ids=["docker", "podman", "docker-compose"],
)
def test_the_first_command_with_an_engine_is_used(
    place: Place, elsewhere: list[str], there: dict[str, tuple[str, ...]], used: list[str]
) -> None:
    for name, failing in there.items():
        place.engine(name, *failing)
    path = place.stack()
    assert place.run("up", *elsewhere).returncode == 0
    assert [words for words, _ in place.calls()] == [
        [*used, "--file", str(path), "up", "--detach", "--remove-orphans"],
    ]


# --------------------------------------------------------------------------- down


@pytest.mark.slow
def test_down_stops_all_profiles_and_needs_no_password(place: Place) -> None:
    place.engine("docker")
    path = place.stack()
    assert place.run("down").returncode == 0
    assert place.run("down", "--volumes", GRAFANA_ADMIN_PASSWORD="mine").returncode == 0
    profiles = [word for profile in PROFILES for word in ("--profile", profile)]
    words = ["docker", "compose", "--file", str(path), *profiles, "down", "--remove-orphans"]
    assert place.calls() == [(words, "-"), ([*words, "--volumes"], "mine")]


# --------------------------------------------------------------------------- status


@pytest.mark.slow
def test_status_tells_who_answers_without_an_engine(place: Place, elsewhere: list[str]) -> None:
    first = place.run("status", *elsewhere)
    assert first.returncode == 1
    assert re.search(r"^loki .* answers 503, not ready yet$", first.stdout, re.MULTILINE)
    second = place.run("status", *elsewhere)
    assert second.returncode == 0
    assert second.stdout.count(" ready\n") == len(SERVICES)
    assert second.stderr == ""


@pytest.mark.slow
def test_status_as_json(place: Place, elsewhere: list[str]) -> None:
    place.run("status", *elsewhere)
    ran = place.run("status", "--json", *elsewhere, "--address", "tempo=http://127.0.0.1:9/")
    assert ran.returncode == 1
    document = json.loads(ran.stdout)
    assert document["ready"] is False
    assert [one["name"] for one in document["services"]] == [service.name for service in SERVICES]
    told = {one["name"]: (one["ready"], one["answer"]) for one in document["services"]}
    assert told.pop("tempo") == (False, "nobody listens")
    assert set(told.values()) == {(True, "ready")}


def test_what_is_no_http_is_not_ready() -> None:
    class Gibberish(BaseHTTPRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 mail ready\r\n")

    with serving(Gibberish) as url:
        (answer,) = asked([Service("grafana", url, "/", "dashboards")])
    assert not answer.ready
    assert "mail ready" in answer.text


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["up", "--file", "nowhere.yml"], "spanhook: no compose file 'nowhere.yml'"),
        (["up", "--profile", "huge"], "spanhook: no profile 'huge'; expected one of demo, scale, state"),
        (["status", "--address", "mimir=http://x"], "spanhook: --address 'mimir=http://x': expected NAME=http://"),
        (["up", "--address", "loki=127.0.0.1"], "spanhook: --address 'loki=127.0.0.1': expected NAME=http://"),
    ],
    ids=["file", "profile", "service", "url"],
)  # fmt: skip
def test_bad_input_is_one_line(place: Place, arguments: list[str], message: str) -> None:
    place.engine("docker")
    ran = place.run(*arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith(message)
    assert ran.stderr.count("\n") == 1
    assert place.calls() == []


def test_the_demo_needs_a_checkout(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("name: spanhook\n")
    assert compose_file(None, ["scale"], tmp_path).path == tmp_path / NAME
    with pytest.raises(ConfigurationError, match="profile 'demo' needs a checkout of spanhook"):
        compose_file(None, ["demo"], tmp_path)


@pytest.mark.parametrize(
    ("environ", "file", "missing"),
    [
        ({}, "", "POSTGRES_PASSWORD and REDIS_PASSWORD"),
        ({"REDIS_PASSWORD": "x"}, "POSTGRES_PASSWORD=\n# POSTGRES_PASSWORD=x\n", "POSTGRES_PASSWORD"),
        ({"REDIS_PASSWORD": ""}, "POSTGRES_PASSWORD=x\nREDIS_PASSWORD=x\n", "REDIS_PASSWORD"),
        (STATE, "", ""),
        ({}, "POSTGRES_PASSWORD=x\nexport REDIS_PASSWORD = 'x'\n", ""),
    ],
    ids=["none", "one", "an empty one comes before the file's", "variables", "file"],
)
def test_databases_need_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], file: str, missing: str
) -> None:
    for name in STATE:
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    (tmp_path / NAME).write_text("name: spanhook\n")
    (tmp_path / ".env").write_text(file)
    assert compose_file(None, ["scale"], tmp_path).path == tmp_path / NAME
    if missing:
        with pytest.raises(ConfigurationError, match=f"profile 'state' needs passwords: set {missing} in .env$"):
            compose_file(None, ["state"], tmp_path)
    else:
        assert compose_file(None, ["state"], tmp_path).path == tmp_path / NAME


# --------------------------------------------------------------------------- the committed files


def test_services_are_where_the_compose_file_publishes_them() -> None:
    published = {
        name: {port.rpartition(":")[0] for port in service.get("ports", [])}
        for name, service in COMPOSE["services"].items()
    }
    for service in SERVICES:
        assert service.url.removeprefix("http://") in published[service.name]
    assert {OTLP_HTTP.removeprefix("http://"), OTLP_GRPC.removeprefix("http://")} <= published["collector"]


def test_profiles_and_dashboards_are_those_there_are() -> None:
    assert set(PROFILES) == {one for service in COMPOSE["services"].values() for one in service.get("profiles", [])}
    there = {
        one["title"]: one["uid"]
        for one in (json.loads(path.read_text()) for path in (ROOT / "grafana" / "dashboards").glob("*.json"))
    }
    assert there == DASHBOARDS


def test_the_wheel_has_what_the_compose_file_mounts() -> None:
    included = (ROOT / "pyproject.toml").read_text().partition("force-include]")[2].partition("[tool")[0]
    shipped = re.findall(r'^"([^"]+)" = "spanhook/cli/stack/files/\1"$', included, re.MULTILINE)
    assert NAME in shipped
    for name, service in COMPOSE["services"].items():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0].removeprefix("./")
            if mount.startswith("./"):
                assert any(source == one or source.startswith(f"{one}/") for one in shipped), f"{name}: {mount}"
