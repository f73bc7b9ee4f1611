"""An agent and a gateway: what enters the one comes out of the other, and neither takes anything from strangers."""

import subprocess
import urllib.error
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.backends import Sink
from tests.e2e.loads import load
from tests.e2e.programs import free_ports, until
from tests.e2e.stack import COLLECTOR, Pipe, collector, pipe

pytestmark = pytest.mark.e2e


@dataclass(frozen=True, slots=True)
class Tiers:
    """An agent before a gateway."""

    agent: str
    token: str
    gateway: Pipe

    @property
    def sink(self) -> Sink:
        return self.gateway.sink

    def environ(self, token: str) -> dict[str, str]:
        """What an application is given to send here."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.agent,
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{token}",
        }


@pytest.fixture(scope="module")
def tiers(tmp_path_factory: pytest.TempPathFactory) -> Generator[Tiers, None, None]:
    folder = tmp_path_factory.mktemp("tiers")
    secrets = folder / "secrets"
    subprocess.run(["sh", COLLECTOR / "certificates.sh", secrets], check=True)
    shared = {
        "SPANHOOK_AGENT_TOKEN_FILE": str(secrets / "agent" / "token"),
        "SPANHOOK_GATEWAY_TOKEN_FILE": str(secrets / "gateway" / "token"),
        "SPANHOOK_GATEWAY_CA_FILE": str(secrets / "gateway" / "ca.crt"),
        "SPANHOOK_GATEWAY_CERT_FILE": str(secrets / "gateway" / "tls.crt"),
        "SPANHOOK_GATEWAY_KEY_FILE": str(secrets / "gateway" / "tls.key"),
        "SPANHOOK_SAMPLING_PERCENT": "100",
    }
    with pipe(folder, shared, "gateway.yaml") as gateway:
        grpc = gateway.grpc_endpoint.rpartition(":")[2]
        ports = free_ports(3)
        target = {
            **shared,
            "SPANHOOK_GATEWAY_HOST": "127.0.0.1",
            "SPANHOOK_GATEWAY_PORT": grpc,
            "SPANHOOK_PROMETHEUS_URL": "http://127.0.0.1:9",
            "SPANHOOK_LOKI_URL": "http://127.0.0.1:9",
        }
        agent = collector(folder / "agent", ports, target, "agent.yaml")
        agent.start()
        try:
            token = (secrets / "agent" / "token").read_text().strip()
            yield Tiers(f"http://127.0.0.1:{ports[1]}", token, gateway)
        finally:
            agent.stop()


def test_a_load_comes_through(tiers: Tiers) -> None:
    document = load(tiers.environ(tiers.token), runs=60)
    spans = sum(document["totals"]["spans"].values())
    events = document["totals"]["events"]
    until(lambda: len(tiers.sink.spans()) == spans, f"{spans} spans")

    def told() -> dict[str, int]:
        names = [record.attributes.get("event.name") for record in tiers.sink.records()]
        return {name: names.count(name) for name in events}

    until(lambda: told() == events, f"log events {events}")
    until(lambda: "spanhook.usage.tokens" in tiers.sink.text(), "metrics")
    until(lambda: "traces.span.metrics.calls" in tiers.sink.text(), "span metrics of the gateway")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_an_agent_takes_nothing_without_its_token(tiers: Tiers, headers: dict[str, str]) -> None:
    request = urllib.request.Request(f"{tiers.agent}/v1/logs", b"{}", {"Content-Type": "application/json", **headers})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 401
    refused.value.close()


def test_a_gateway_takes_nothing_without_its_token(tiers: Tiers, tmp_path: Path) -> None:
    grpc = pytest.importorskip("grpc")
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

    environ = tiers.gateway.collector.environ
    credentials = grpc.ssl_channel_credentials(Path(environ["SPANHOOK_GATEWAY_CA_FILE"]).read_bytes())
    address = tiers.gateway.grpc_endpoint.removeprefix("http://")
    named = [("grpc.ssl_target_name_override", "gateway")]
    with grpc.secure_channel(address, credentials, named) as channel, pytest.raises(grpc.RpcError) as refused:
        TraceServiceStub(channel).Export(ExportTraceServiceRequest(), timeout=10)
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as refused:
        TraceServiceStub(channel).Export(ExportTraceServiceRequest(), timeout=10)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
