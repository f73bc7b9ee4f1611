"""Neither tier takes anything from strangers, and an agent sends nothing to one."""

import ssl
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from tests.e2e.kafka import broker
from tests.e2e.programs import until
from tests.e2e.sending import application
from tests.e2e.tiers import Tiers, made_secrets, tiers

pytestmark = pytest.mark.e2e

WRONG = [None, "", "Bearer", "Bearer wrong", "Basic wrong"]
AS_GATEWAY = [("grpc.ssl_target_name_override", "gateway")]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Generator[Tiers, None, None]:
    with tiers(tmp_path_factory.mktemp("access"), gateways=1) as started:
        yield started


@pytest.mark.parametrize("shown", WRONG)
def test_an_agent_takes_nothing_over_http_without_its_token(one: Tiers, shown: str | None) -> None:
    headers = {"Content-Type": "application/json"} | ({} if shown is None else {"Authorization": shown})
    request = urllib.request.Request(f"{one.endpoint}/v1/logs", b"{}", headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 401
    refused.value.close()


def _refusal(channel: grpc.Channel, shown: str | None) -> grpc.StatusCode | None:
    metadata = [] if shown is None else [("authorization", shown)]
    try:
        LogsServiceStub(channel).Export(ExportLogsServiceRequest(), timeout=10, metadata=metadata)
        TraceServiceStub(channel).Export(ExportTraceServiceRequest(), timeout=10, metadata=metadata)
    except grpc.RpcError as refused:
        return refused.code()
    return None


@pytest.mark.parametrize("shown", WRONG)
def test_an_agent_takes_nothing_over_grpc_without_its_token(one: Tiers, shown: str | None) -> None:
    with grpc.insecure_channel(one.grpc_endpoint) as channel:
        assert _refusal(channel, shown) is grpc.StatusCode.UNAUTHENTICATED
        assert _refusal(channel, f"Bearer {one.token}") is None


def _gateway(one: Tiers) -> str:
    environ = one.gateways["gateway-1"].collector.environ
    return f"{environ['SPANHOOK_COLLECTOR_HOST']}:{environ['SPANHOOK_COLLECTOR_GRPC_PORT']}"


@pytest.mark.parametrize("whose", [*WRONG, "agent"])
def test_a_gateway_takes_nothing_without_its_own_token(one: Tiers, whose: str | None) -> None:
    credentials = grpc.ssl_channel_credentials((one.secrets / "gateway" / "ca.crt").read_bytes())
    token = (one.secrets / "gateway" / "token").read_text().strip()
    with grpc.secure_channel(_gateway(one), credentials, AS_GATEWAY) as channel:
        shown = f"Bearer {one.token}" if whose == "agent" else whose
        assert _refusal(channel, shown) is grpc.StatusCode.UNAUTHENTICATED
        assert _refusal(channel, f"Bearer {token}") is None


def test_a_gateway_takes_nothing_in_the_clear(one: Tiers) -> None:
    token = (one.secrets / "gateway" / "token").read_text().strip()
    with grpc.insecure_channel(_gateway(one)) as channel:
        assert _refusal(channel, f"Bearer {token}") is grpc.StatusCode.UNAVAILABLE


def test_a_gateways_health_is_told_over_tls_alone(one: Tiers) -> None:
    address = one.gateways["gateway-1"].collector.ready.removeprefix("https://")
    trusted = ssl.create_default_context(cafile=one.secrets / "gateway" / "ca.crt")
    trusted.check_hostname = False  # it is asked by address, the certificate is for a name
    with urllib.request.urlopen(f"https://{address}", timeout=10, context=trusted) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://{address}", timeout=10)
    assert refused.value.code == 400
    refused.value.close()


def test_an_agents_health_is_told_on_loopback_wherever_it_listens(tmp_path: Path) -> None:
    with tiers(tmp_path, {"SPANHOOK_COLLECTOR_HOST": "127.0.0.9"}, gateways=1) as elsewhere:
        with grpc.insecure_channel(elsewhere.grpc_endpoint) as channel:
            assert _refusal(channel, f"Bearer {elsewhere.token}") is None
        assert elsewhere.agent.ready.startswith("http://127.0.0.1:")
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(elsewhere.agent.ready.replace("127.0.0.1", "127.0.0.9"), timeout=10)


@pytest.mark.parametrize("strange", ["authority", "name"])
def test_an_agent_sends_nothing_to_whom_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strange: str
) -> None:
    """It keeps what it has, and sends it once it knows the gateway."""
    own = made_secrets(tmp_path / "own")
    if strange == "authority":
        variable, known = "SPANHOOK_GATEWAY_CA_FILE", str(tmp_path / "secrets" / "gateway" / "ca.crt")
        given = {variable: own[variable]}
    else:
        variable, known = "SPANHOOK_GATEWAY_NAME", "gateway"
        given = {variable: "somebody.else"}
    with tiers(tmp_path, given, gateways=1) as one:
        for name, value in one.environ().items():
            monkeypatch.setenv(name, value)
        with application(one.endpoint) as app:
            app.run("invoke_agent whom")
            app.log("spanhook.run", {}, {})
        until(lambda: "authentication handshake failed" in one.agent.log.read_text(), "refusal of the certificate")
        assert one.spans() == []
        assert not one.told("made-up")
        one.agent.kill()
        one.agent.environ[variable] = known
        one.agent.start()
        until(lambda: one.told("made-up").total() == 1, "log event at the gateway, which is known now")


def test_nothing_is_sent_to_a_kafka_that_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS is what collectors speak to Kafka unless told otherwise."""
    variable, known = "SPANHOOK_KAFKA_CA_FILE", str(tmp_path / "kafka-secrets" / "gateway" / "ca.crt")
    made_secrets(tmp_path / "kafka-secrets", "localhost")
    strange = made_secrets(tmp_path / "own")["SPANHOOK_GATEWAY_CA_FILE"]
    with broker(tmp_path / "kafka", tmp_path / "kafka-secrets" / "gateway") as kafka:
        given = {"SPANHOOK_KAFKA_BROKERS": kafka.secured, variable: strange}
        with tiers(tmp_path, given, gateways=1, behind=[".kafka.yaml"]) as one:
            for name, value in one.environ().items():
                monkeypatch.setenv(name, value)
            with application(one.endpoint) as app:
                app.log("spanhook.run", {}, {})
            until(
                lambda: "certificate signed by unknown authority" in one.agent.log.read_text(), "refusal by the agent"
            )
            assert kafka.written() == 0
            for server in (one.agent, one.gateways["gateway-1"].collector):
                server.kill()
                server.environ[variable] = known
                server.start()
            until(lambda: one.told("made-up").total() == 1, "log event by way of Kafka, which is known now")
            assert kafka.written() == 1
