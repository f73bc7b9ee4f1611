"""The whole pipeline on loopback, with the committed configurations: only addresses and paths are set from outside."""

import shutil
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.backends import Loki, Prometheus, Sink
from tests.e2e.programs import CACHE, Server, free_ports, program

ROOT = Path(__file__).resolve().parents[2]
COLLECTOR = ROOT / "collector"
BACKENDS = COLLECTOR / "backends"
PROMETHEUS_FLAGS = (
    "--web.enable-otlp-receiver",
    "--enable-feature=exemplar-storage,created-timestamp-zero-ingestion",
)
"""What ``backends/prometheus.yaml`` asks to be started with; the compose file gives the same."""

#: What would take minutes in a test takes seconds.
QUICK = {
    "SPANHOOK_SAMPLING_WAIT": "10s",
    "SPANHOOK_SAMPLING_WAIT_AFTER_ROOT": "1s",
    "SPANHOOK_COLLECTOR_FLUSH": "1s",
    "SPANHOOK_COLLECTOR_OWN_MS": "1000",
}


def needed(name: str) -> Path:
    """A program; the test is skipped where it was not built."""
    path = program(name)
    if path is None:
        pytest.skip(f"no {name} in {CACHE}: .ci/tools {name}")
    return path


@dataclass(frozen=True, slots=True)
class Stack:
    """What runs, and where."""

    endpoint: str
    grpc_endpoint: str
    collector: Server
    prometheus: Prometheus
    prometheus_server: Server
    alertmanager: str
    sink: Sink
    sink_server: Server
    loki: Loki | None

    def environ(self) -> dict[str, str]:
        """What an application is given to send here."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint,
            "OTEL_METRIC_EXPORT_INTERVAL": "1000",
            "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED": "true",
        }


@contextmanager
def stack(
    folder: Path,
    environ: Mapping[str, str] | None = None,
    webhook: str = "http://127.0.0.1:9/",
    *,
    with_loki: bool = True,
) -> Generator[Stack, None, None]:
    """Run all of it.

    Args:
        folder: Where everything is kept.
        environ: More variables for the collector.
        webhook: Where alerts go.
        with_loki: Send logs to Loki if it was built, not to the sink.
    """
    ports = free_ports(12)
    with ExitStack() as running:

        def run(server: Server) -> Server:
            server.start()
            running.callback(server.stop)
            return server

        run(_alertmanager(folder / "alertmanager", ports[0], webhook))
        prometheus = run(_prometheus(folder / "prometheus", ports[1], ports[0]))
        sink = run(_sink(folder / "sink", *ports[2:5]))
        loki_path = program("loki") if with_loki else None
        loki_url = f"http://127.0.0.1:{ports[3]}"
        if loki_path is not None:
            loki_url = f"http://127.0.0.1:{ports[5]}"
            run(_loki(loki_path, folder / "loki", ports[5], ports[6]))
        collector = run(
            _collector(
                folder / "collector",
                ports[7:10],
                {
                    "SPANHOOK_TEMPO_ENDPOINT": f"127.0.0.1:{ports[2]}",
                    "SPANHOOK_PROMETHEUS_URL": f"http://127.0.0.1:{ports[1]}",
                    "SPANHOOK_LOKI_URL": loki_url,
                    **QUICK,
                    **(environ or {}),
                },
            )
        )
        yield Stack(
            endpoint=f"http://127.0.0.1:{ports[8]}",
            grpc_endpoint=f"http://127.0.0.1:{ports[7]}",
            collector=collector,
            prometheus=Prometheus(f"http://127.0.0.1:{ports[1]}"),
            prometheus_server=prometheus,
            alertmanager=f"http://127.0.0.1:{ports[0]}",
            sink=Sink(folder / "sink"),
            sink_server=sink,
            loki=Loki(loki_url) if loki_path is not None else None,
        )


def _alertmanager(folder: Path, port: int, webhook: str) -> Server:
    folder.mkdir(parents=True)
    shutil.copy(BACKENDS / "alertmanager.yaml", folder)
    (folder / "webhook_url").write_text(webhook)
    arguments = [
        "--config.file=alertmanager.yaml",
        "--storage.path=data",
        "--cluster.listen-address=",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    return Server(needed("alertmanager"), arguments, folder, f"http://127.0.0.1:{port}/-/ready")


def _prometheus(folder: Path, port: int, alertmanager: int) -> Server:
    shutil.copytree(BACKENDS, folder)
    (folder / "targets" / "alertmanager.yaml").write_text(f"- targets: ['127.0.0.1:{alertmanager}']\n")
    (folder / "targets" / "backends.yaml").write_text(f"- targets: ['127.0.0.1:{port}']\n")
    arguments = [
        "--config.file=prometheus.yaml",
        "--storage.tsdb.path=data",
        f"--web.listen-address=127.0.0.1:{port}",
        *PROMETHEUS_FLAGS,
    ]
    return Server(needed("prometheus"), arguments, folder, f"http://127.0.0.1:{port}/-/ready")


def _sink(folder: Path, grpc: int, http: int, health: int) -> Server:
    folder.mkdir(parents=True)
    environ = {
        "SINK_GRPC_PORT": str(grpc),
        "SINK_HTTP_PORT": str(http),
        "SINK_HEALTH_PORT": str(health),
        "SINK_DATA": str(folder),
    }
    arguments = ["--config", str(Path(__file__).with_name("sink.yaml"))]
    return Server(needed("otelcol"), arguments, folder, f"http://127.0.0.1:{health}/", environ)


def _loki(path: Path, folder: Path, port: int, internal: int) -> Server:
    folder.mkdir(parents=True)
    environ = {
        "SPANHOOK_LOKI_HOST": "127.0.0.1",
        "SPANHOOK_LOKI_PORT": str(port),
        "SPANHOOK_LOKI_INTERNAL_PORT": str(internal),
        "SPANHOOK_LOKI_DATA": str(folder / "data"),
    }
    arguments = [f"-config.file={BACKENDS / 'loki.yaml'}", "-config.expand-env=true"]
    return Server(path, arguments, folder, f"http://127.0.0.1:{port}/ready", environ)


def _collector(folder: Path, ports: list[int], environ: Mapping[str, str]) -> Server:
    folder.mkdir(parents=True)
    own = {
        "SPANHOOK_COLLECTOR_GRPC_PORT": str(ports[0]),
        "SPANHOOK_COLLECTOR_HTTP_PORT": str(ports[1]),
        "SPANHOOK_COLLECTOR_HEALTH_PORT": str(ports[2]),
        "SPANHOOK_COLLECTOR_DATA": str(folder / "data"),
        **environ,
    }
    arguments = ["--config", str(COLLECTOR / "standalone.yaml")]
    return Server(needed("otelcol"), arguments, folder, f"http://127.0.0.1:{ports[2]}/", own)
