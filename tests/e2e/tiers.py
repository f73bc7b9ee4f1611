"""Two tiers with the committed configurations: an agent before gateways that share one Prometheus, each with a sink.

The gateways have one port and addresses of their own on loopback. The agent finds them by a name in a hosts file that
it alone sees; where the machine does not allow that, it is given their addresses instead of a name.
"""

import shutil
import subprocess
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.e2e.backends import Prometheus, Record, Span
from tests.e2e.programs import Server
from tests.e2e.stack import COLLECTOR, QUICK, Pipe, collector, pipe, prometheus_at
from tests.ports import free_ports

NAME = "gateways.test"

#: Spans of one run leave in many requests.
SMALL_BATCHES = {
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8",
    "OTEL_BSP_SCHEDULE_DELAY": "50",
    "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "8",
    "OTEL_BLRP_SCHEDULE_DELAY": "50",
}


@dataclass(frozen=True, slots=True)
class Tiers:
    """An agent before gateways.

    Attributes:
        endpoint, grpc_endpoint: Where the agent listens.
        token: What it must be shown.
        secrets: The folder of tokens and certificates.
        agent: Its server.
        gateways: Each with its sink, by ``service.instance.id``.
        prometheus: Theirs, and the agent's for what it tells of itself.
        hosts: The file that names the gateways, ``None`` if the agent was given their addresses.
    """

    endpoint: str
    grpc_endpoint: str
    token: str
    secrets: Path
    agent: Server
    gateways: Mapping[str, Pipe]
    prometheus: Prometheus
    hosts: Path | None

    def environ(self, **resource: str) -> dict[str, str]:
        """What an application of these resource attributes is given to send here; dots are double underscores."""
        return {
            **SMALL_BATCHES,
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint,
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{self.token}",
            "OTEL_METRIC_EXPORT_INTERVAL": "1000",
            "OTEL_RESOURCE_ATTRIBUTES": ",".join(f"{key.replace('__', '.')}={resource[key]}" for key in resource),
        }

    def spans(self) -> list[Span]:
        """The spans that all gateways have sent on."""
        return [span for one in self.gateways.values() for span in one.sink.spans()]

    def records(self) -> list[Record]:
        """The log records that all gateways have sent on."""
        return [record for one in self.gateways.values() for record in one.sink.records()]

    def told(self, service: str) -> Counter[str]:
        """Log events of a service by name."""
        return Counter(
            str(record.attributes.get("event.name"))
            for record in self.records()
            if record.resource.get("service.name") == service
        )

    def name(self, *gateways: str) -> None:
        """Have the agent's name for the gateways stand for these."""
        assert self.hosts is not None
        addresses = [self.gateways[one].collector.environ["SPANHOOK_COLLECTOR_HOST"] for one in gateways]
        self.hosts.write_text(_hosts(addresses))


def _hosts(addresses: Sequence[str]) -> str:
    return "127.0.0.1 localhost\n" + "".join(f"{address} {NAME}\n" for address in addresses)


def made_secrets(folder: Path, *names: str) -> dict[str, str]:
    """Tokens and certificates of a new authority, as variables."""
    subprocess.run(["sh", COLLECTOR / "certificates.sh", folder, *names], check=True)
    return {
        "SPANHOOK_AGENT_TOKEN_FILE": str(folder / "agent" / "token"),
        "SPANHOOK_GATEWAY_TOKEN_FILE": str(folder / "gateway" / "token"),
        "SPANHOOK_GATEWAY_CA_FILE": str(folder / "gateway" / "ca.crt"),
        "SPANHOOK_GATEWAY_CERT_FILE": str(folder / "gateway" / "tls.crt"),
        "SPANHOOK_GATEWAY_KEY_FILE": str(folder / "gateway" / "tls.key"),
    }


@contextmanager
def tiers(
    folder: Path, environ: Mapping[str, str] | None = None, gateways: int = 2, behind: Sequence[str] = ()
) -> Generator[Tiers, None, None]:
    """Run them.

    Args:
        folder: Where everything is kept.
        environ: More variables for all collectors.
        gateways: How many.
        behind: What is given behind ``agent.yaml`` and ``gateway.yaml``: the ends of file names, as in ``.kafka.yaml``.
    """
    with ExitStack() as running:
        at, port, *ports = free_ports(5)
        prometheus = prometheus_at(folder / "prometheus", at, 9)
        prometheus.start()
        running.callback(prometheus.stop)
        secrets = folder / "secrets"
        shared = {**made_secrets(secrets), "SPANHOOK_PROMETHEUS_URL": f"http://127.0.0.1:{at}", **(environ or {})}
        addresses = {f"gateway-{number}": f"127.0.0.{number}" for number in range(1, gateways + 1)}
        started: dict[str, Pipe] = {}
        for name, address in addresses.items():
            own = {
                "SPANHOOK_COLLECTOR_ID": name,
                "SPANHOOK_COLLECTOR_HOST": address,
                "SPANHOOK_COLLECTOR_GRPC_PORT": str(port),
            }
            files = ["gateway.yaml", *(f"gateway{end}" for end in behind)]
            started[name] = running.enter_context(pipe(folder / name, {**shared, **own}, *files))
        target = {
            **QUICK,
            **shared,
            "SPANHOOK_GATEWAY_HOST": NAME,
            "SPANHOOK_GATEWAY_PORT": str(port),
            "SPANHOOK_LOKI_URL": "http://127.0.0.1:9",
        }
        agent = collector(folder / "agent", ports, target, "agent.yaml", *(f"agent{end}" for end in behind))
        hosts = _find(agent, list(addresses.values()), port)
        agent.start()
        running.callback(agent.stop)
        host = target.get("SPANHOOK_COLLECTOR_HOST", "127.0.0.1")
        yield Tiers(
            f"http://{host}:{ports[1]}",
            f"{host}:{ports[0]}",
            (secrets / "agent" / "token").read_text().strip(),
            secrets,
            agent,
            started,
            Prometheus(f"http://127.0.0.1:{at}"),
            hosts,
        )


def _find(agent: Server, addresses: Sequence[str], port: int) -> Path | None:
    """Have the agent find the gateways: by name if it can have names of its own, else by their addresses."""
    hosts = agent.folder / "hosts"
    hosts.write_text(_hosts(addresses))
    unshare = shutil.which("unshare")
    own = [unshare or "", "-r", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts)]
    if unshare and subprocess.run([*own, "true"], check=False, capture_output=True).returncode == 0:
        agent.arguments = [*own[1:], str(agent.path), *agent.arguments]
        agent.path = Path(unshare)
        return hosts
    static = {"dns": None, "static": {"hostnames": [f"{address}:{port}" for address in addresses]}}
    exporters = {name: {"resolver": static} for name in ("load_balancing", "load_balancing/metrics")}
    given = agent.folder / "addresses.yaml"
    given.write_text(yaml.safe_dump({"exporters": exporters}))
    agent.arguments.append(f"--config={given}")
    return None
