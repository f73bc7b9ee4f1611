"""What the environment asks for: exporters of each signal, and where they send to."""

import pytest

from spanhook.errors import ConfigurationError
from spanhook.export import asked, endpoint, environment

OTLP = ("otlp_proto_http",)


@pytest.mark.parametrize(
    ("variables", "traces", "metrics", "logs"),
    [
        ({}, (), (), ()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, OTLP, OTLP, OTLP),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, OTLP, (), ()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_METRICS_EXPORTER": "none"}, OTLP, (), OTLP),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, ("console", *OTLP), (), ()),
        ({"OTEL_LOGS_EXPORTER": "otlp_proto_http"}, (), (), OTLP),
        (
            {
                "OTEL_LOGS_EXPORTER": "otlp",
                "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/protobuf",
                "OTEL_EXPORTER_OTLP_PROTOCOL": "x",
            },
            (),
            (),
            OTLP,
        ),
    ],
)
def test_asked(
    variables: dict[str, str], traces: tuple[str, ...], metrics: tuple[str, ...], logs: tuple[str, ...]
) -> None:
    assert asked(variables) == {"traces": traces, "metrics": metrics, "logs": logs}


class Installed:
    def __init__(self, name: str) -> None:
        self.name = name


def test_asked_for_grpc_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "entry_points", lambda **_: [Installed("otlp_proto_http"), Installed("console")])

    with pytest.raises(
        ConfigurationError, match=r"OTEL_EXPORTER_OTLP_PROTOCOL='grpc' needs .* pip install \"spanhook\[grpc\]\""
    ):
        asked({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    with pytest.raises(ConfigurationError, match=r"OTEL_LOGS_EXPORTER='kafka': .* expected one of console, none, otlp"):
        asked({"OTEL_LOGS_EXPORTER": "kafka"})


def test_endpoints() -> None:
    assert endpoint("traces", "otlp_proto_http", {}) == "http://localhost:4318"
    assert endpoint("logs", "otlp_proto_grpc", {}) == "http://localhost:4317"
    assert (
        endpoint(
            "logs", "otlp_proto_http", {"OTEL_EXPORTER_OTLP_ENDPOINT": "a", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "b"}
        )
        == "b"
    )
