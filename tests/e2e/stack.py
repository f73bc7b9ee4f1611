"""The whole pipeline on loopback, with the committed configurations: only addresses and paths are set from outside.

Benchmarks use it too, so that nothing here needs pytest unless a test is skipped.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.backends import Loki, Prometheus, Sink, Tempo
from tests.e2e.programs import CACHE, Server, program
from tests.ports import free_ports

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
        import pytest

        pytest.skip(f"no {name} in {CACHE}: .ci/tools {name}")
    return path


@dataclass(frozen=True, slots=True)
class Pipe:
    """A collector, and what stands in for the backends behind it."""

    endpoint: str
    grpc_endpoint: str
    collector: Server
    sink: Sink
    sink_server: Server

    def environ(self) -> dict[str, str]:
        """What an application is given to send here."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint,
            "OTEL_METRIC_EXPORT_INTERVAL": "1000",
            "OTEL_BSP_SCHEDULE_DELAY": "1000",
            "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED": "true",
        }


@dataclass(frozen=True, slots=True)
class Stack(Pipe):
    """The same with real backends, as far as they were built."""

    prometheus: Prometheus
    prometheus_server: Server
    alertmanager: str
    loki: Loki | None
    tempo: Tempo | None

    def needed_loki(self) -> Loki:
        """Loki; the test is skipped where it was not built."""
        needed("loki")
        assert self.loki is not None, "this stack was started without Loki"
        return self.loki


@contextmanager
def pipe(folder: Path, environ: Mapping[str, str] | None = None, *configurations: str) -> Generator[Pipe, None, None]:
    """Run one collector with everything behind it in the sink.

    Args:
        folder: Where everything is kept.
        environ: More variables for the collector.
        configurations: Which of the committed ones, ``standalone.yaml`` unless given.
    """
    with ExitStack() as running:
        sink, sink_ports = _started_sink(running, folder / "sink")
        started, ports = _started_collector(
            running,
            folder / "collector",
            {**_backends(sink_ports[0], sink_ports[1], sink_ports[1]), **(environ or {})},
            *(configurations or ("standalone.yaml",)),
        )
        yield Pipe(_url(ports[1]), _url(ports[0]), started, Sink(folder / "sink"), sink)


@contextmanager
def stack(
    folder: Path,
    environ: Mapping[str, str] | None = None,
    webhook: str = "http://127.0.0.1:9/",
    *,
    traces: bool = False,
    loki: bool = True,
    patience: str = "",
    disk: str = "",
) -> Generator[Stack, None, None]:
    """Run all of it; logs go to Loki if it was built, else to the sink.

    Args:
        folder: Where everything is kept.
        environ: More variables for the collector.
        webhook: Where alerts go.
        traces: Send traces to Tempo if it was built; it takes a while to start. Else they go to the sink.
        loki: Whether logs may go to Loki.
        patience: For how long an alert's condition must hold, in place of what each alert says.
        disk: Size of a disk of the collector's own, which goes when it does.
    """
    with ExitStack() as running:
        sink, sink_ports = _started_sink(running, folder / "sink")
        alertmanager, at, loki_port, loki_internal, tempo, tempo_otlp, tempo_internal = free_ports(7)
        _start(running, _alertmanager(folder / "alertmanager", alertmanager, webhook))
        prometheus = _start(running, prometheus_at(folder / "prometheus", at, alertmanager, patience))
        loki_path = program("loki") if loki else None
        if loki_path is None:
            loki_port = sink_ports[1]
        else:
            _start(running, _loki(loki_path, folder / "loki", loki_port, loki_internal))
        tempo_path = program("tempo") if traces else None
        if tempo_path is None:
            tempo_otlp = sink_ports[0]
        else:
            _start(running, _tempo(tempo_path, folder / "tempo", tempo, tempo_otlp, tempo_internal), patience=2)
        started, ports = _started_collector(
            running,
            folder / "collector",
            {**_backends(tempo_otlp, at, loki_port), **(environ or {})},
            "standalone.yaml",
            disk=disk,
        )
        yield Stack(
            _url(ports[1]),
            _url(ports[0]),
            started,
            Sink(folder / "sink"),
            sink,
            Prometheus(_url(at)),
            prometheus,
            _url(alertmanager),
            Loki(_url(loki_port)) if loki_path is not None else None,
            Tempo(_url(tempo)) if tempo_path is not None else None,
        )


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def _backends(tempo: int, prometheus: int, loki: int) -> dict[str, str]:
    return {
        "SPANHOOK_TEMPO_ENDPOINT": f"127.0.0.1:{tempo}",
        "SPANHOOK_PROMETHEUS_URL": _url(prometheus),
        "SPANHOOK_LOKI_URL": _url(loki),
    }


def _start(running: ExitStack, server: Server, patience: float = 30.0) -> Server:
    server.start()
    running.callback(server.stop, patience)
    return server


def _started_sink(running: ExitStack, folder: Path) -> tuple[Server, list[int]]:
    ports = free_ports(3)
    return _start(running, sink_at(folder, *ports)), ports


def _started_collector(
    running: ExitStack, folder: Path, environ: Mapping[str, str], *configurations: str, disk: str = ""
) -> tuple[Server, list[int]]:
    ports = free_ports(3)
    one = collector(folder, ports, {**QUICK, **environ}, *configurations)
    return _start(running, _with_disk(one, disk) if disk else one), ports


def _with_disk(one: Server, size: str) -> Server:
    """The same program in a mount namespace of its own, with its data on a disk in memory."""
    unshare = shutil.which("unshare")
    namespace = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    if unshare is None or subprocess.run([unshare, *namespace, "true"], capture_output=True, check=False).returncode:
        import pytest

        pytest.skip("no mount namespaces here: no disk that can be filled")
    data = Path(one.environ["SPANHOOK_COLLECTOR_DATA"])
    data.mkdir()
    mounted = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
    arguments = [*namespace, "sh", "-c", mounted, str(data), str(one.path), *one.arguments]
    return Server(Path(unshare), arguments, one.folder, one.ready, one.environ)


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
    return Server(needed("alertmanager"), arguments, folder, f"{_url(port)}/-/ready")


def prometheus_at(folder: Path, port: int, alertmanager: int, patience: str = "") -> Server:
    """Prometheus on this port, with its rules; alerts go to ``alertmanager``, after ``patience`` if that is given."""
    shutil.copytree(BACKENDS, folder)
    if patience:
        _edit(folder / "prometheus.yaml", r"evaluation_interval: \w+", "evaluation_interval: 1s")
        _edit(folder / "rules" / "pipeline.yaml", r"(?m)^( +)for: \w+$", rf"\1for: {patience}")
    (folder / "targets" / "alertmanager.yaml").write_text(f"- targets: ['127.0.0.1:{alertmanager}']\n")
    (folder / "targets" / "backends.yaml").write_text(f"- targets: ['127.0.0.1:{port}']\n")
    arguments = [
        "--config.file=prometheus.yaml",
        "--storage.tsdb.path=data",
        f"--web.listen-address=127.0.0.1:{port}",
        *PROMETHEUS_FLAGS,
    ]
    return Server(needed("prometheus"), arguments, folder, f"{_url(port)}/-/ready")


def _edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text())
    assert count, f"no {pattern} in {path.name}"
    path.write_text(text)


def sink_at(folder: Path, grpc: int, http: int, health: int) -> Server:
    """A collector that writes what it is sent to files in a new folder, on these ports."""
    folder.mkdir(parents=True)
    environ = {
        "SINK_GRPC_PORT": str(grpc),
        "SINK_HTTP_PORT": str(http),
        "SINK_HEALTH_PORT": str(health),
        "SINK_DATA": str(folder),
    }
    arguments = ["--config", str(Path(__file__).with_name("sink.yaml"))]
    return Server(needed("otelcol"), arguments, folder, f"{_url(health)}/", environ)


def _loki(path: Path, folder: Path, port: int, internal: int) -> Server:
    folder.mkdir(parents=True)
    environ = {
        "SPANHOOK_LOKI_HOST": "127.0.0.1",
        "SPANHOOK_LOKI_PORT": str(port),
        "SPANHOOK_LOKI_INTERNAL_PORT": str(internal),
        "SPANHOOK_LOKI_DATA": str(folder / "data"),
    }
    arguments = [f"-config.file={BACKENDS / 'loki.yaml'}", "-config.expand-env=true"]
    return Server(path, arguments, folder, f"{_url(port)}/ready", environ)


def _tempo(path: Path, folder: Path, port: int, otlp: int, internal: int) -> Server:
    """The newest Tempo that can be built is a 2.8, which does not know two sections of the file: its defaults serve."""
    import yaml

    folder.mkdir(parents=True)
    known = yaml.safe_load((BACKENDS / "tempo.yaml").read_text())
    for newer in ("live_store", "backend_scheduler"):
        del known[newer]
    (folder / "tempo.yaml").write_text(yaml.safe_dump(known))
    environ = {
        "SPANHOOK_TEMPO_HOST": "127.0.0.1",
        "SPANHOOK_TEMPO_PORT": str(port),
        "SPANHOOK_TEMPO_OTLP_PORT": str(otlp),
        "SPANHOOK_TEMPO_INTERNAL_PORT": str(internal),
        "SPANHOOK_TEMPO_DATA": str(folder / "data"),
    }
    arguments = ["-target=all", "-config.file=tempo.yaml", "-config.expand-env=true"]
    return Server(path, arguments, folder, f"{_url(port)}/ready", environ)


def collector(folder: Path, ports: list[int], environ: Mapping[str, str], *configurations: str) -> Server:
    """A collector with some of the committed configurations, on these ports: gRPC, HTTP, health."""
    folder.mkdir(parents=True)
    own = {
        "SPANHOOK_COLLECTOR_GRPC_PORT": str(ports[0]),
        "SPANHOOK_COLLECTOR_HTTP_PORT": str(ports[1]),
        "SPANHOOK_COLLECTOR_HEALTH_PORT": str(ports[2]),
        "SPANHOOK_COLLECTOR_DATA": str(folder / "data"),
        **environ,
    }
    arguments = [f"--config={COLLECTOR / one}" for one in configurations]
    ready = f"{_url(ports[2])}/"
    if "gateway.yaml" in configurations:  # the agent's is on loopback, wherever it listens
        ready = f"https://{own.get('SPANHOOK_COLLECTOR_HOST', '127.0.0.1')}:{ports[2]}/"
    return Server(needed("otelcol"), arguments, folder, ready, own)
