"""Which exporters the ``OTEL_*`` settings ask for; creates none of them.

See https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
"""

import os
from collections.abc import Mapping
from importlib.metadata import entry_points

from spanhook.errors import ConfigurationError

SIGNALS = ("traces", "metrics", "logs")
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


def disabled(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether ``OTEL_SDK_DISABLED`` turns telemetry off; gates still hold."""
    return environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def asked(environ: Mapping[str, str] = os.environ) -> dict[str, tuple[str, ...]]:
    """The exporters that the ``OTEL_*`` settings ask for: entry point names by signal.

    An endpoint implies OTLP if ``OTEL_<SIGNAL>_EXPORTER`` is not set.

    Raises:
        ConfigurationError: A protocol or an exporter is unknown, or not installed.
    """
    return {signal: tuple(_exporters(signal, environ)) for signal in SIGNALS}


def endpoint(signal: str, exporter: str, environ: Mapping[str, str] = os.environ) -> str:
    """Where an OTLP exporter sends a signal."""
    own = environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return own or ("http://localhost:4317" if exporter == _PROTOCOLS["grpc"] else "http://localhost:4318")


def _exporters(signal: str, environ: Mapping[str, str]) -> list[str]:
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    given = environ.get(variable, "").strip()
    if not given:
        endpoints = (f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
        given = "otlp" if any(environ.get(name, "").strip() for name in endpoints) else "none"
    wanted = [name.strip() for name in given.split(",") if name.strip() and name.strip().lower() != "none"]
    return [_known(variable, name, signal, environ) for name in wanted]


def _known(variable: str, name: str, signal: str, environ: Mapping[str, str]) -> str:
    source = f"{variable}={name!r}"
    if name == "otlp":
        variables = (f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        variable = next((one for one in variables if environ.get(one, "").strip()), variables[-1])
        protocol = environ.get(variable, "").strip() or "http/protobuf"
        source = f"{variable}={protocol!r}"
        if protocol not in _PROTOCOLS:
            raise ConfigurationError(f"{source}, expected one of {', '.join(_PROTOCOLS)}")
        name = _PROTOCOLS[protocol]
    installed = {one.name for one in entry_points(group=f"opentelemetry_{signal}_exporter")}
    if name in installed:
        return name
    if name == _PROTOCOLS["grpc"]:
        raise ConfigurationError(f'{source} needs the gRPC exporter; pip install "spanhook[grpc]"')
    usable = [*sorted(installed - set(_PROTOCOLS.values())), "none", "otlp"]
    raise ConfigurationError(f"{source}: no such exporter is installed; expected one of {', '.join(usable)}")
