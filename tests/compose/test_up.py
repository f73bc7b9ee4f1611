"""``spanhook up`` on podman: the committed compose file, as users have it, from start to deletion."""

import json
import re
import uuid
from typing import Any

import pytest
import yaml

from tests.compose.engine import COMPOSE_FILE, Engine
from tests.compose.loaded import send
from tests.e2e.programs import until
from tests.e2e.stack import needed

pytestmark = pytest.mark.compose

COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
ALWAYS = {name for name, service in SERVICES.items() if "profiles" not in service}
READY = ["collector", "prometheus", "alertmanager", "tempo", "loki", "grafana"]

#: Users of services whose image says so.
USERS = {
    "prometheus": 65534,
    "alertmanager": 65534,
    "loki": 10001,
    "tempo": 10001,
    "grafana": 472,
    "kafka": 1000,
    "postgres": 999,
}
UNITS = {"m": 2**20, "g": 2**30}


def test_up_keeps_until_it_is_told_not_to(engine: Engine) -> None:
    """One life of the stack: each step needs what those before it have left.

    It is started by ``docker-compose`` first, and then by ``podman compose``, as podman has it from 4.7 on.
    """
    _comes_up(engine)
    _is_as_committed(engine, ALWAYS)
    load = send("http://127.0.0.1:4318")
    load.await_arrival()
    before = {name: one.started for name, one in engine.containers().items()}
    engine.compose("restart")
    assert all(one.started > before[name] for name, one in engine.containers().items())
    load.await_arrival()
    assert engine.spanhook("down").returncode == 0
    assert engine.containers() == {}
    assert {name for name in COMPOSE["volumes"] if name in ALWAYS} <= engine.volumes()
    podman = engine.path(podman=needed("podman"), docker_compose=needed("compose"))
    _comes_up(engine, path=podman)
    load.await_arrival()
    ended = engine.spanhook("down", "--volumes", GRAFANA_ADMIN_PASSWORD="", PATH=podman)
    assert ended.returncode == 0, ended.stderr
    assert engine.containers() == {}
    assert engine.volumes() == set()


def test_up_with_tiers_and_stores(engine: Engine) -> None:
    profiles = ("scale", "state")
    _comes_up(engine, *profiles)
    engine.await_health()
    _is_as_committed(engine, SERVICES.keys() - {"load", "certificates", "topics"})
    assert {engine.containers()[name].exit_code for name in ("certificates", "topics")} == {0}
    token = engine.compose(
        *["run", "--rm", "--no-deps", "-T", "certificates", "cat", "/etc/otelcol/agent/token"], profiles=("scale",)
    ).strip()
    assert re.fullmatch(r"[0-9a-f]{64}", token)
    load = send("http://127.0.0.1:5318", headers=f"authorization=Bearer%20{token}")
    load.await_arrival(sampled=True)
    kept = uuid.uuid4().hex
    for command in _writing(kept):
        engine.compose("exec", "-T", *command, profiles=profiles)
    engine.compose("restart", "postgres", "redis", "kafka", profiles=profiles)
    engine.await_health()
    for command in _reading():
        until(lambda command=command: kept in _tried(engine, *command), f"what was stored, from {command[0]}")
    assert engine.spanhook("down", "--volumes").returncode == 0
    assert (engine.containers(), engine.volumes()) == ({}, set())


def _comes_up(engine: Engine, *profiles: str, path: str = "") -> None:
    """It starts, every service answers, and every health check passes."""
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    ran = engine.spanhook("up", *chosen, PATH=path or engine.environ["PATH"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ready = re.findall(r"^(\w+) is ready after \d+ s$", ran.stderr, re.MULTILINE)
    assert sorted(ready) == sorted(READY)
    assert "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318\n" in ran.stdout
    engine.await_health()
    assert {name: one.state for name, one in engine.containers().items() if name in ALWAYS} == dict.fromkeys(
        ALWAYS, "running"
    )
    assert json.loads(engine.spanhook("status", "--json").stdout)["ready"]


def _is_as_committed(engine: Engine, names: set[str]) -> None:
    """What the compose file says of containers holds for their processes."""
    found = engine.containers()
    for name in names:
        service, one = SERVICES[name], found[name]
        assert one.state == "running", name
        assert bool(one.health) == ("healthcheck" in service), name
        assert one.is_read_only == service.get("read_only", False), name
        assert (one.capabilities == 0) == (service.get("cap_drop") == ["ALL"]), name
        assert not one.may_gain_privileges, name
        assert one.user == USERS.get(name, 0), name
        memory = service["deploy"]["resources"]["limits"]["memory"]
        assert one.memory == int(memory[:-1]) * UNITS[memory[-1]], name
        mounts = [mount.split(":") for mount in service.get("volumes", ())]
        assert one.writable >= {mount[1] for mount in mounts if "ro" not in mount[2:]}, name
        assert not one.writable & {mount[1] for mount in mounts if "ro" in mount[2:]}, name
        if service.get("read_only"):
            assert one.writable == {mount[1] for mount in mounts if "ro" not in mount[2:]}, name


def _writing(kept: str) -> list[list[str]]:
    sql = f"CREATE TABLE kept (it text); INSERT INTO kept VALUES ('{kept}')"
    return [[*_SQL, sql], [*_REDIS, f"SET kept {kept}"]]


def _reading() -> list[list[str]]:
    return [[*_SQL, "SELECT it FROM kept"], [*_REDIS, "GET kept"]]


_SQL = [
    "postgres",
    "sh",
    "-c",
    'PGPASSWORD=$POSTGRES_PASSWORD psql -h 127.0.0.1 -U spanhook -At -c "$1" spanhook',
    "sh",
]
_REDIS = ["redis", "sh", "-c", 'REDISCLI_AUTH="$REDIS_PASSWORD" redis-cli $1', "sh"]


def _tried(engine: Engine, *command: str) -> str:
    try:
        return engine.compose("exec", "-T", *command, profiles=("state",))
    except AssertionError:
        return ""
