"""``spanhook demo --serve``: the control plane on this machine, with the demo's runs in it."""

import os
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import click

_SIGNALS = ("TRACES", "METRICS", "LOGS")
_OWN = ("OTEL_SDK_DISABLED", *(f"OTEL_EXPORTER_OTLP_{name}" for name in ("HEADERS", "CERTIFICATE")))
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def serve_demo(*, live: bool, port: int | None, database: str | None) -> int:
    """Serve the control plane, play the scenes in a process of their own that sends them there, and go on serving.

    Args:
        live: As ``run_demo``.
        port: Where to listen on loopback; 8321 unless given.
        database: The database; ``./spanhook.db`` unless given.

    Returns:
        The exit code: 0 after Ctrl+C or SIGTERM, otherwise that of the demo.

    Raises:
        ConfigurationError: A package is missing, the port is taken, or the database cannot be used.
    """
    from spanhook.errors import ConfigurationError, StoreError
    from spanhook.server import read_settings, serve

    playing = _Playing(live=live)
    try:
        serve(read_settings(port=port, database=database), playing.begin)
    except StoreError as error:
        raise ConfigurationError(f"{error}; see --database") from error
    return playing.end()


class _Playing:
    """The demo in a process of its own, beside the server."""

    def __init__(self, *, live: bool) -> None:
        self._command = [sys.executable, "-m", "spanhook", "demo", *(["--live"] if live else [])]
        self._process: subprocess.Popen[bytes] | None = None
        self._code = 0

    def begin(self, address: str, _database: str) -> None:
        """Play, now that the server answers."""
        self._process = subprocess.Popen(self._command, env=environment(os.environ, address))  # noqa: S603
        threading.Thread(target=self._wait, args=(self._process, address), daemon=True).start()

    def end(self) -> int:
        """End playing, if it has not. Returns its exit code if it has failed."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        return self._code

    def _wait(self, process: "subprocess.Popen[bytes]", address: str) -> None:
        code = process.wait()
        if code > 0:
            self._code = code
            signal.raise_signal(signal.SIGTERM)
        elif code == 0:
            click.echo(f"\nThe runs are at {address}/runs; what hooks decided at {address}/decisions. Ctrl+C ends it.")
            open_page(address)


def environment(given: Mapping[str, str], address: str) -> dict[str, str]:
    """The variables of a process that sends all its telemetry to a server on loopback, and nowhere else."""
    over = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        **{f"OTEL_{name}_EXPORTER": "otlp" for name in _SIGNALS},
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
    theirs = tuple(f"OTEL_EXPORTER_OTLP_{name}_" for name in _SIGNALS)
    kept = {name: text for name, text in given.items() if not name.startswith(theirs) and name not in _OWN}
    return {CONTENT: "SPAN_ONLY", **kept, **over}


def open_page(address: str, found: Mapping[str, Any] = os.environ) -> bool:
    """Show the pages, if somebody is at a terminal of a desktop. Returns whether a browser was started."""
    has_desktop = sys.platform in ("darwin", "win32") or found.get("DISPLAY") or found.get("WAYLAND_DISPLAY")
    if not (sys.stdout.isatty() and has_desktop):
        return False
    with suppress(webbrowser.Error):
        return webbrowser.open(f"{address}/runs")
    return False
