"""The files of the stack agree with each other: versions, mounts, ports, addresses, ids, names of metrics."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanhook import semconv
from tests.yaml_files import load_file

ROOT = Path(__file__).resolve().parents[1]
COLLECTOR = ROOT / "collector"
COMPOSE: dict[str, Any] = load_file(ROOT / "docker-compose.yml")
SERVICES: dict[str, Any] = COMPOSE["services"]
RULES = sorted(path for path in (COLLECTOR / "backends" / "rules").glob("*.yaml") if ".test." not in path.name)
CONFIGURATIONS = sorted([*COLLECTOR.glob("*.yaml"), *(COLLECTOR / "backends").glob("*.yaml")])

#: What comes out of the collector, out of Prometheus itself, or is recorded by a rule, rather than out of spanhook.
ELSEWHERE = re.compile(r"spanhook_server_\w+|otelcol_\w+|otel_sdk_\w+|traces_\w+|up|spanhook:\w+(:\w+)*")


def _read(path: Path) -> Any:
    return load_file(path)


def _version() -> str:
    return _read(COLLECTOR / "builder.yaml")["dist"]["version"]


def test_one_version_of_the_collector_everywhere() -> None:
    version = _version()
    manifest = _read(COLLECTOR / "builder.yaml")
    modules = [
        one["gomod"]
        for section in ("receivers", "processors", "exporters", "connectors", "extensions")
        for one in manifest[section]
    ]
    assert {module.rpartition(" v")[2] for module in modules} == {version}
    images = re.findall(
        r"otel/opentelemetry-collector-contrib:(\S+)",
        "".join(path.read_text() for path in [ROOT / "docker-compose.yml", *(COLLECTOR / "kubernetes").glob("*.yaml")]),
    )
    assert set(images) == {version}
    assert f"COLLECTOR={version} " in (ROOT / ".ci" / "tools").read_text()


def test_ci_builds_the_versions_that_the_compose_file_runs() -> None:
    tools = (ROOT / ".ci" / "tools").read_text()
    major, minor, patch = SERVICES["prometheus"]["image"].rpartition(":v")[2].split(".")
    assert f"PROMETHEUS=0.{major}{minor}.{patch} " in tools
    assert f"ALERTMANAGER={SERVICES['alertmanager']['image'].rpartition(':v')[2]} " in tools
    assert f"LOKI={SERVICES['loki']['image'].rpartition(':')[2]} " in tools


def test_the_collector_is_built_of_just_what_its_configurations_use() -> None:
    manifest = _read(COLLECTOR / "builder.yaml")
    files = [*COLLECTOR.glob("[asg]*.yaml"), ROOT / "tests" / "e2e" / "sink.yaml"]
    configurations = [_read(path) for path in files]
    named = {"otlpexporter": "otlp_grpc", "otlphttpexporter": "otlp_http", "loadbalancingexporter": "load_balancing",
             "spanmetricsconnector": "span_metrics", "servicegraphconnector": "service_graph",
             "memorylimiterprocessor": "memory_limiter", "tailsamplingprocessor": "tail_sampling",
             "healthcheckextension": "health_check", "filestorage": "file_storage"}  # fmt: skip
    for section in ("receivers", "processors", "exporters", "connectors", "extensions"):
        folders = [one["gomod"].split()[0].rpartition("/")[2] for one in manifest[section]]
        built = {named.get(folder, folder.removesuffix(section.rstrip("s"))) for folder in folders}
        used = {name.partition("/")[0] for one in configurations for name in one.get(section, {})}
        assert built == used, section


def test_what_is_mounted_is_there_and_what_is_kept_is_declared() -> None:
    for name, service in SERVICES.items():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            if source.startswith("."):
                assert (ROOT / source).exists(), f"{name} mounts {source}"
            else:
                assert source in COMPOSE["volumes"], f"{name} keeps {source}"


def test_ports_are_on_loopback_and_none_is_given_twice() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    published = [port.split(":")[1] for port in ports]
    assert len(set(published)) == len(published)


def test_every_service_is_limited_and_pinned() -> None:
    for name, service in SERVICES.items():
        assert re.search(r":v?\d+\.\d+(\.\d+)?(-slim)?$", service["image"]), f"{name}: {service['image']}"
        assert service["deploy"]["resources"]["limits"]["memory"], name


def test_images_without_a_shell_have_no_health_check() -> None:
    assert not [name for name in ("tempo", "loki", "collector", "agent") if "healthcheck" in SERVICES[name]]


def test_no_password_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert re.findall(r"\$\{\w*PASSWORD:-([^}]+)\}", text) == []


def test_profiles() -> None:
    profiles = {one for service in SERVICES.values() for one in service.get("profiles", [])}
    assert profiles == {"demo", "scale", "state"}


def test_addresses_in_configurations_are_services() -> None:
    known = {*SERVICES, "gateway", "127.0.0.1", "0.0.0.0"}
    for path in CONFIGURATIONS:
        for host in re.findall(r":-(?:http://)?([a-z0-9.-]+):\d+\}", path.read_text()):
            assert host in known, f"{path.name}: {host}"


def test_variables_given_are_variables_read() -> None:
    read = set(re.findall(r"\$\{(?:env:)?(SPANHOOK_\w+)", "".join(path.read_text() for path in CONFIGURATIONS)))
    given = {
        variable
        for name in ("collector", "agent", "gateway-1", "gateway-2")
        for variable in SERVICES[name]["environment"]
        if variable.startswith("SPANHOOK_")
    }
    for path in (COLLECTOR / "kubernetes").glob("*.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            template = document.get("spec", {}).get("template", {}) if document else {}
            for container in template.get("spec", {}).get("containers", []):
                given |= {one["name"] for one in container["env"] if one["name"].startswith("SPANHOOK_")}
    assert given <= read


def test_data_sources_have_the_ids_that_dashboards_use() -> None:
    provisioned = _read(ROOT / "grafana" / "provisioning" / "datasources" / "spanhook.yaml")["datasources"]
    assert {one["uid"]: one["type"] for one in provisioned} == {
        "prometheus": "prometheus",
        "tempo": "tempo",
        "loki": "loki",
    }
    text = (ROOT / "grafana" / "provisioning" / "datasources" / "spanhook.yaml").read_text()
    assert set(re.findall(r"datasourceUid: (\w+)", text)) <= {"prometheus", "tempo", "loki"}
    assert set(re.findall(r"\$(SPANHOOK_\w+)", text)) <= set(SERVICES["grafana"]["environment"])


def _prometheus_name(metric: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", metric)


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_rules_ask_for_what_there_is(path: Path) -> None:
    metrics = {_prometheus_name(value) for name, value in vars(semconv).items() if name.startswith("METRIC_")}
    attributes = {_prometheus_name(value) for value in vars(semconv).values() if isinstance(value, str)}
    sdks = {"otel_component_type", "http_response_status_code", "result", "endpoint"}
    labels = attributes | sdks | {"service_name", "otel_scope_name", "instance", "exporter", "job", "le", "__name__"}
    for group in _read(path)["groups"]:
        for rule in group["rules"]:
            text = re.sub(r'"[^"]*"', '""', rule["expr"])
            for by in re.findall(r"by \(([^)]*)\)", text):
                assert {one.strip() for one in by.split(",")} <= labels, rule
            for matchers in re.findall(r"\{([^}]*)\}", text):
                assert set(re.findall(r"(\w+)[=!]", matchers)) <= labels, rule
            for name in re.findall(r"(?<![\w:])((?:spanhook|gen_ai|otel|otelcol|traces)[\w:]*)(?=\{|\[|\)| |$)", text):
                assert (
                    name in labels or ELSEWHERE.fullmatch(name) or any(name.startswith(metric) for metric in metrics)
                ), f"{name} in {rule}"


def test_prometheus_reads_every_rule() -> None:
    configured = _read(ROOT / "collector" / "backends" / "prometheus.yaml")["rule_files"]
    assert sorted(configured) == sorted(f"rules/{path.name}" for path in RULES)


def test_every_alert_is_described_and_tested() -> None:
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    anchors = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.+)$", runbook, re.MULTILINE)}
    tests = "".join(path.read_text() for path in RULES[0].parent.glob("*.test.yaml"))
    for path in RULES:
        for group in _read(path)["groups"]:
            for rule in group["rules"]:
                if "alert" in rule:
                    assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule
                    assert rule["annotations"]["summary"], rule
                    path_of, _, anchor = rule["annotations"]["runbook"].partition("#")
                    assert (path_of, anchor in anchors) == ("docs/runbook.md", True), rule
                    assert f"alertname: {rule['alert']}" in tests, rule
