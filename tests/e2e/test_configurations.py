"""Every configuration is one that its program takes, and what two of them share is the same in both."""

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.stack import BACKENDS, COLLECTOR, ROOT, needed

pytestmark = pytest.mark.e2e

ALONE = ["standalone.yaml", "agent.yaml", "gateway.yaml"]
TOGETHER = [["agent.yaml", "agent.kafka.yaml"], ["gateway.yaml", "gateway.kafka.yaml"]]


@pytest.mark.parametrize("files", [[one] for one in ALONE] + TOGETHER, ids="+".join)
def test_the_collector_takes_it(files: list[str], tmp_path: Path) -> None:
    arguments = itertools.chain.from_iterable(("--config", str(COLLECTOR / one)) for one in files)
    ran = subprocess.run(
        [needed("otelcol"), "validate", *arguments],
        env={**os.environ, "SPANHOOK_COLLECTOR_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_prometheus_takes_its_configuration_and_rules() -> None:
    ran = subprocess.run(
        [needed("promtool"), "check", "config", str(BACKENDS / "prometheus.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_rules_do_what_they_say() -> None:
    tests = sorted((BACKENDS / "rules").glob("*.test.yaml"))
    assert tests
    ran = subprocess.run(
        [needed("promtool"), "test", "rules", *map(str, tests)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_alertmanager_takes_its_configuration() -> None:
    ran = subprocess.run(
        [needed("amtool"), "check-config", str(BACKENDS / "alertmanager.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("profiles", [[], ["demo"], ["scale"], ["state"], ["demo", "scale", "state"]], ids="+".join)
def test_compose_takes_its_file(profiles: list[str]) -> None:
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    ran = _compose({"GRAFANA_ADMIN_PASSWORD": "-"}, *chosen, "config", "--quiet")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_compose_asks_for_the_password() -> None:
    ran = _compose({}, "config", "--quiet")
    assert ran.returncode != 0
    assert "set GRAFANA_ADMIN_PASSWORD in .env" in ran.stderr


def test_up_without_an_engine_says_so(tmp_path: Path) -> None:
    (tmp_path / "docker-compose").symlink_to(needed("compose"))
    ran = subprocess.run(
        [sys.executable, "-m", "spanhook", "up"],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/nobody"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "no container engine answers (docker-compose ls failed: Cannot connect" in ran.stderr
    assert "spanhook run --console" in ran.stderr


def _compose(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [needed("compose"), "--file", ROOT / "docker-compose.yml", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def _read(name: str) -> Any:
    return yaml.safe_load((COLLECTOR / name).read_text())


def _same(left: Any, right: Any, name: str) -> None:
    """Components of one name are configured alike, but for what the tiers are called."""
    for section in ("processors", "connectors"):
        for component in left[section].keys() & right.get(section, {}).keys():
            if component != "transform/derived":
                assert left[section][component] == right[section][component], f"{component} of {name}"


def test_tiers_do_what_one_collector_does() -> None:
    standalone, agent, gateway = map(_read, ALONE)
    _same(standalone, agent, "agent.yaml")
    _same(standalone, gateway, "gateway.yaml")
    tiers = agent["processors"].keys() | gateway["processors"].keys()
    assert tiers == standalone["processors"].keys()
    assert gateway["connectors"].keys() == standalone["connectors"].keys()
    assert gateway["exporters"] == standalone["exporters"]
