"""A podman of the tests' own: its storage, networks and socket are in one folder, and it uses nothing else."""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compose.container import Container
from tests.compose.timers import checking
from tests.e2e.programs import Server, until
from tests.e2e.stack import ROOT, needed
from tests.programs import need

COMPOSE_FILE = ROOT / "docker-compose.yml"
PODMAN = Path("/usr/bin/podman")
PASSWORDS = {
    "GRAFANA_ADMIN_PASSWORD": "of-dashboards",
    "POSTGRES_PASSWORD": "of-a-database",
    "REDIS_PASSWORD": "of-a-store",
}
SETTINGS = {
    "containers.conf": """
[containers]
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
""",
    "storage.conf": """
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
[storage.options]
additionalimagestores = ["{images}"]
""",
}


class Service(Server):
    """Podman's API; it is ready as soon as its socket is there."""

    def answers(self) -> bool:
        return Path(self.ready).is_socket()


@dataclass(frozen=True, slots=True)
class Engine:
    """Podman, and what commands must be told to use it.

    Attributes:
        folder: Where all it has is kept.
        environ: Variables for commands; among them a search path with ``docker-compose`` alone.
        service: What answers at its socket.
    """

    folder: Path
    environ: Mapping[str, str]
    service: Server

    def podman(self, *arguments: str) -> str:
        """What podman prints."""
        return _printed([str(PODMAN), *arguments], self.environ)

    def compose(self, *arguments: str, profiles: tuple[str, ...] = ()) -> str:
        """What compose prints, of the committed file."""
        chosen = [word for profile in profiles for word in ("--profile", profile)]
        command = [str(needed("compose")), "--file", str(COMPOSE_FILE), *chosen, *arguments]
        return _printed(command, {**self.environ, **PASSWORDS})

    def spanhook(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the command as a user would, in this checkout, whose compose file it finds.

        Args:
            arguments: Of the command.
            environ: More variables; those that are empty are not set.
        """
        given = {**self.environ, **PASSWORDS, **environ}
        return subprocess.run(
            [sys.executable, "-m", "spanhook", *arguments],
            cwd=ROOT,
            env={name: value for name, value in given.items() if value},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    def containers(self) -> dict[str, Container]:
        """All containers of the stack, by service."""
        names = self.podman("ps", "--all", "--quiet").split()
        found = json.loads(self.podman("inspect", *names)) if names else []
        return {one["Config"]["Labels"]["com.docker.compose.service"]: Container(one) for one in found}

    def volumes(self) -> set[str]:
        """The names of all volumes, without the project's."""
        return {name.removeprefix("spanhook_") for name in self.podman("volume", "ls", "--quiet").split()}

    def await_health(self) -> None:
        """Wait until the health checks of all containers that have one have passed."""

        def unhealthy() -> dict[str, str]:
            states = {name: one.health for name, one in self.containers().items()}
            return {name: state for name, state in states.items() if state not in ("", "healthy")}

        try:
            until(lambda: not unhealthy(), "health of all services", 120)
        except AssertionError as error:
            said = {
                name: _printed([str(PODMAN), "logs", "--tail", "9", f"spanhook-{name}-1"], self.environ, all_of_it=True)
                for name in unhealthy()
            }
            raise AssertionError(f"not healthy: {unhealthy()}, {said}") from error

    def path(self, **commands: Path) -> str:
        """A search path with these commands and no other; an underscore stands for a hyphen."""
        folder = self.folder / "-".join(("path", *(program.resolve().name for program in commands.values())))
        folder.mkdir(exist_ok=True)
        for name, program in commands.items():
            link = folder / name.replace("_", "-")
            if not link.is_symlink():
                link.symlink_to(program)
        return str(folder)


def _printed(command: list[str], environ: Mapping[str, str], *, all_of_it: bool = False) -> str:
    ran = subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
    return ran.stdout + ran.stderr if all_of_it else ran.stdout


@contextmanager
def running(folder: Path, images: Path) -> Generator[Engine, None, None]:
    """Run podman's service, and delete all that it has made afterwards.

    Args:
        folder: Where everything is kept; its path must be short, as paths of sockets are.
        images: A store with images.
    """
    limits = {"files": resource.RLIMIT_NOFILE, "processes": resource.RLIMIT_NPROC}
    highest = {name: resource.getrlimit(limit)[1] for name, limit in limits.items()}  # nobody may have more
    for name, text in SETTINGS.items():
        (folder / name).write_text(text.format(folder=folder, images=images, **highest))
    socket = folder / "podman.sock"
    environ = {
        "HOME": str(folder),
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
    }
    service = Service(PODMAN, ["system", "service", "--time", "0", f"unix://{socket}"], folder, str(socket), environ)
    there = {"DOCKER_HOST": f"unix://{socket}", "CONTAINER_HOST": f"unix://{socket}"}
    source = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    engine = Engine(folder, {**environ, **there, **source, "PATH": ""}, service)
    engine = Engine(folder, {**engine.environ, "PATH": engine.path(docker_compose=needed("compose"))}, service)
    service.start()
    try:
        with checking(engine.containers, lambda name: engine.podman("healthcheck", "run", name)):
            yield engine
    finally:
        for left in ("rm --all --force --time 0", "volume rm --all --force", "network prune --force"):
            with suppress(AssertionError):
                engine.podman(*left.split())
        service.stop()
        subprocess.run(["umount", "--lazy", folder / "storage" / "overlay"], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def is_possible() -> None:
    """Skip the test where there is no podman of Debian's, or nobody may use it."""
    need("podman", PODMAN if PODMAN.exists() else None)
    if os.geteuid() != 0:
        pytest.skip("podman runs as root alone: .ci/run compose")
