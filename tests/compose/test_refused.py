"""What ``spanhook up`` says if the stack cannot be started, and by which commands it finds the engine."""

import re
import socket
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.compose.engine import PODMAN, Engine
from tests.e2e.stack import needed

pytestmark = pytest.mark.compose

NONE = "; spanhook run --console shows runs without one\n"


def test_without_a_password(engine: Engine) -> None:
    ran = engine.spanhook("up", GRAFANA_ADMIN_PASSWORD="")
    assert ran.returncode == 1
    assert "set GRAFANA_ADMIN_PASSWORD in .env" in ran.stderr
    assert ran.stderr.endswith("spanhook: docker-compose up failed with exit code 1\n")
    assert engine.containers() == {}


def test_with_a_port_taken(engine: Engine) -> None:
    with _listening(4318):
        ran = engine.spanhook("up")
    assert ran.returncode == 1
    assert re.search(r"4318\b.*(address already in use|cannot assign)", ran.stderr, re.IGNORECASE), ran.stderr
    assert ran.stderr.endswith("spanhook: docker-compose up failed with exit code 1\n")
    assert engine.spanhook("down", "--volumes").returncode == 0
    assert engine.containers() == {}


def test_with_a_dead_engine(engine: Engine) -> None:
    ran = engine.spanhook("up", DOCKER_HOST=f"unix://{engine.folder}/nobody.sock")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("spanhook: no container engine answers (docker-compose ls failed: ")
    assert ran.stderr.endswith(f"){NONE}")
    assert ran.stderr.count("\n") == 1


def test_with_a_podman_that_has_no_compose(engine: Engine) -> None:
    """Debian 12's is of 4.3."""
    ran = engine.spanhook("up", PATH=engine.path(podman=PODMAN))
    advice = "podman has compose from 4.7 on: install that, or docker-compose and set DOCKER_HOST to podman's socket"
    assert (ran.returncode, ran.stderr) == (2, f"spanhook: no container engine answers ({advice}){NONE}")


def test_with_a_podman_that_has_nothing_to_run_compose_with(engine: Engine) -> None:
    ran = engine.spanhook("up", PATH=engine.path(podman=needed("podman")))
    advice = "podman compose needs docker-compose: install it"
    assert (ran.returncode, ran.stderr) == (2, f"spanhook: no container engine answers ({advice}){NONE}")


@contextmanager
def _listening(port: int) -> Generator[None]:
    with socket.create_server(("127.0.0.1", port)):
        yield
