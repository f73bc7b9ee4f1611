"""What runs the two tiers gives them what their configurations read: files, names, ports, sizes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.yaml_files import load_file

ROOT = Path(__file__).resolve().parents[1]
COLLECTOR = ROOT / "collector"
KUBERNETES = COLLECTOR / "kubernetes"
SERVICES: dict[str, Any] = load_file(ROOT / "docker-compose.yml")["services"]
TIERS = ("agent", "gateway-1", "gateway-2")


def _configuration(name: str) -> Any:
    return load_file(COLLECTOR / name)


def _defaults(*names: str) -> dict[str, str]:
    """The variables that configurations read, with what stands for them."""
    text = "".join((COLLECTOR / name).read_text() for name in names)
    return dict(re.findall(r"\$\{env:(\w+):-([^}]*)\}", text))


def _manifest(tier: str, kind: str) -> Any:
    documents = yaml.safe_load_all((KUBERNETES / f"{tier}.yaml").read_text())
    return next(one for one in documents if one["kind"] == kind)


def _pod(tier: str) -> Any:
    return _manifest(tier, {"agent": "DaemonSet", "gateway": "StatefulSet"}[tier])["spec"]["template"]["spec"]


def _environ(tier: str) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in _pod(tier)["containers"][0]["env"]}


# ------------------------------------------------------------------------------------------------ compose


def test_ci_tests_with_the_kafka_that_the_compose_file_runs() -> None:
    image, version = SERVICES["kafka"]["image"].split(":")
    assert SERVICES["topics"]["image"] == f"{image}:{version}"
    assert f"KAFKA={version}\n" in (ROOT / ".ci" / "tools").read_text()


def test_kafka_takes_the_largest_message_that_agents_send() -> None:
    largest = _configuration("agent.kafka.yaml")["exporters"]["kafka"]["producer"]["max_message_bytes"]
    assert SERVICES["kafka"]["environment"]["KAFKA_MESSAGE_MAX_BYTES"] == largest
    assert f"max.message.bytes={largest};" in SERVICES["topics"]["command"][-1]
    for receiver in _configuration("gateway.kafka.yaml")["receivers"].values():
        assert receiver["max_partition_fetch_size"] == largest
        assert largest <= receiver["max_fetch_size"] <= 100 << 20, "the client does not start with more"


def test_tiers_meet_in_topics_that_are_there() -> None:
    prefix = _defaults("agent.kafka.yaml")["SPANHOOK_KAFKA_PREFIX"]
    script = SERVICES["topics"]["command"][-1]
    signals = re.findall(r"for signal in (.+?);", script)[0].split()
    assert f"--topic {prefix}.$$signal " in script
    written = _configuration("agent.kafka.yaml")["exporters"]["kafka"]
    read = _configuration("gateway.kafka.yaml")["receivers"]
    assert {name.partition("/")[2] for name in read} == set(signals)
    for signal in signals:
        assert read[f"kafka/{signal}"][signal]["topics"] == [written[signal]["topic"]]


def test_every_receiver_of_a_gateway_has_a_group_of_its_own() -> None:
    """A member's id may be in a group once only: a second one that brings it puts the first out."""
    receivers = _configuration("gateway.kafka.yaml")["receivers"]
    groups = [one["group_id"] for one in receivers.values()]
    assert len(set(groups)) == len(groups) == 3
    pipelines = _configuration("gateway.kafka.yaml")["service"]["pipelines"]
    assert {signal: one["receivers"] for signal, one in pipelines.items()} == {
        signal: ["otlp", f"kafka/{signal}"] for signal in pipelines
    }


@pytest.mark.parametrize("name", TIERS)
def test_compose_gives_a_tier_what_it_reads(name: str) -> None:
    service, tier = SERVICES[name], name.partition("-")[0]
    mounts = {one.split(":")[1]: one.split(":")[0] for one in service["volumes"]}
    files = [one.removeprefix("--config=") for one in service["command"]]
    assert [Path(mounts[one]).name for one in files] == [f"{tier}.yaml", f"{tier}.kafka.yaml"]
    defaults = _defaults(*(Path(one).name for one in files))
    for variable, path in defaults.items():
        if path.startswith("/"):
            assert variable not in service["environment"]
            assert any(Path(path).is_relative_to(mount) for mount in mounts), f"{variable} at {path}"
    assert mounts["/etc/otelcol"] == "certificates"
    assert SERVICES["certificates"]["command"][-1] == "/etc/otelcol"
    assert service["environment"]["SPANHOOK_KAFKA_INSECURE"] == "true"
    listened = {defaults["SPANHOOK_COLLECTOR_GRPC_PORT"], defaults.get("SPANHOOK_COLLECTOR_HTTP_PORT")}
    assert {port.rpartition(":")[2] for port in service.get("ports", [])} <= listened


def test_gateways_of_the_compose_file_differ_in_name_and_volume() -> None:
    pairs = [SERVICES[name] for name in TIERS[1:]]
    assert len({one["environment"]["SPANHOOK_COLLECTOR_ID"] for one in pairs}) == 2
    kept = [next(mount for mount in one["volumes"] if mount.endswith(":/var/lib/otelcol")) for one in pairs]
    assert len(set(kept)) == 2


# --------------------------------------------------------------------------------------------- kubernetes


@pytest.mark.parametrize("tier", ["agent", "gateway"])
def test_kubernetes_gives_a_tier_what_it_reads(tier: str) -> None:
    pod = _pod(tier)
    container = pod["containers"][0]
    mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    for variable, path in _defaults(f"{tier}.yaml").items():
        if path.startswith("/"):
            assert variable not in _environ(tier)
            assert any(Path(path).is_relative_to(mount) for mount in mounts), f"{variable} at {path}"
    (given,) = container["args"]
    generated = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["configMapGenerator"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    (files,) = [one["files"] for one in generated if one["name"] == volumes["config"]["configMap"]["name"]]
    assert files == [f"{Path(given).name}=../{tier}.yaml"]
    assert mounts[str(Path(given.removeprefix("--config=")).parent)] == "config"


@pytest.mark.parametrize("tier", ["agent", "gateway"])
def test_secrets_hold_what_is_made(tier: str) -> None:
    """All files of a folder that ``certificates.sh`` makes, or those of them that are listed."""
    script = (COLLECTOR / "certificates.sh").read_text()
    (removed,) = re.findall(r"rm -f (.+)", script)
    made = {"token", *re.findall(r"(?:-out|-keyout) (\w+\.\w+)", script)} - set(removed.split())
    assert "ca.key" not in made, "who has it can pass for a gateway"
    readme = (COLLECTOR / "README.md").read_text()
    for volume in _pod(tier)["volumes"]:
        if "secret" in volume:
            name, folder = volume["secret"]["secretName"], volume["name"]
            assert re.search(rf"secret generic {name} --from-file=\S+/{folder}(/token)?$", readme, re.MULTILINE)
            items = {one["key"] for one in volume["secret"].get("items", [])}
            assert items <= made
            read = {
                Path(path) for path in _defaults(f"{tier}.yaml").values() if path.startswith(f"/etc/otelcol/{folder}/")
            }
            assert {path.name for path in read} <= (items or made)


def test_agents_find_gateways_by_the_name_of_their_service() -> None:
    service = _manifest("gateway", "Service")
    namespace = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["namespace"]
    name = f"{service['metadata']['name']}.{namespace}.svc"
    environ = _environ("agent")
    assert environ["SPANHOOK_GATEWAY_HOST"] == f"{name}.cluster.local"
    assert environ["SPANHOOK_GATEWAY_NAME"] == name
    assert f"certificates.sh /tmp/spanhook {name}\n" in (COLLECTOR / "README.md").read_text()
    assert service["spec"]["clusterIP"] == "None", "its name must resolve to each gateway"
    assert _manifest("gateway", "StatefulSet")["spec"]["serviceName"] == service["metadata"]["name"]
    (port,) = service["spec"]["ports"]
    assert str(port["port"]) == _defaults("agent.yaml")["SPANHOOK_GATEWAY_PORT"]
    assert port["targetPort"] in {one["name"] for one in _pod("gateway")["containers"][0]["ports"]}


@pytest.mark.parametrize("tier", ["agent", "gateway"])
def test_ports_and_probes_are_those_listened_on(tier: str) -> None:
    defaults, container = _defaults(f"{tier}.yaml"), _pod(tier)["containers"][0]
    named = {one["name"]: str(one["containerPort"]) for one in container["ports"]}
    for name, variable in (("otlp-grpc", "GRPC"), ("otlp-http", "HTTP"), ("health", "HEALTH")):
        if name in named:
            assert named[name] == defaults[f"SPANHOOK_COLLECTOR_{variable}_PORT"]
    probe = container["readinessProbe"]["httpGet"]
    assert named.get(probe["port"], str(probe["port"])) == defaults["SPANHOOK_COLLECTOR_HEALTH_PORT"]
    health = _configuration(f"{tier}.yaml")["extensions"]["health_check"]
    assert probe.get("scheme", "HTTP") == ("HTTPS" if "tls" in health else "HTTP")
    assert health["endpoint"].startswith("127.0.0.1:") == (probe.get("host") == "127.0.0.1")
    assert container["startupProbe"]["httpGet"] == probe


@pytest.mark.parametrize("tier", ["agent", "gateway"])
def test_the_collector_ends_before_it_is_made_to(tier: str) -> None:
    """What it tries to send while it stops it may try for as long as one gateway gets."""
    assert _pod(tier)["terminationGracePeriodSeconds"] >= 60
    tried = _configuration("agent.yaml")["exporters"]["load_balancing"]
    inner = tried["protocol"]["otlp"]["retry_on_failure"]["max_elapsed_time"]
    assert int(inner.rstrip("s")) < int(tried["timeout"].rstrip("s"))
