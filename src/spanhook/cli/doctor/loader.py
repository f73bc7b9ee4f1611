"""How ``opentelemetry-instrument`` can start the application without spanhook.

That loader configures a distro and the SDK first, and only then calls spanhook. If the configuration fails, it logs the
error and runs the application anyway. See ``_load.py`` of opentelemetry-instrumentation 0.60b0 to 0.66b1.
"""

from collections.abc import Iterator, Mapping
from importlib import metadata

from spanhook.cli.doctor.report import Finding
from spanhook.export import SIGNALS

_LOADER = "opentelemetry-instrument"
_SAFE = "`spanhook run -- opentelemetry-instrument ...` does not"
_DISTRO, _CONFIGURATOR = "OTEL_PYTHON_DISTRO", "OTEL_PYTHON_CONFIGURATOR"
_PROTOCOLS = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}


def loader(environ: Mapping[str, str]) -> Iterator[Finding]:
    """What would go wrong under ``opentelemetry-instrument`` here."""
    if not _names("console_scripts") & {_LOADER}:
        return
    first = _names("opentelemetry_pre_instrument")
    if "spanhook" not in first:
        yield Finding("warning", _LOADER, "does not find spanhook's entry point; reinstall spanhook")
    for other in sorted(first - {"spanhook"}):
        yield Finding(
            "warning", _LOADER, f"may call {other} before spanhook, and continues ungated if that fails; {_SAFE}"
        )
    distros, configurators = _names("opentelemetry_distro"), _names("opentelemetry_configurator")
    for variable, known in ((_DISTRO, distros), (_CONFIGURATOR, configurators)):
        chosen = environ.get(variable)
        if len(known) > 1 and not chosen:
            yield Finding("warning", variable, f"is not set, so any of {', '.join(sorted(known))} may be used")
        elif chosen and chosen not in known:
            yield Finding("warning", variable, f"{chosen!r} is not installed, and the loader continues without it")
    if "distro" in distros and environ.get(_DISTRO, "distro") == "distro":
        for missing in _missing_exporters(environ):
            yield Finding("warning", _LOADER, f"fails for {missing}, and then continues UNGATED; {_SAFE}")
    yield Finding("note", _LOADER, f"continues ungated if a distro or configurator fails first; {_SAFE}")


def _missing_exporters(environ: Mapping[str, str]) -> Iterator[str]:
    """Missing exporters of the default distro, without which its configurator fails."""
    for signal in SIGNALS:
        installed = _names(f"opentelemetry_{signal}_exporter")
        for name in environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").split(","):
            entry = name.strip()
            if entry == "otlp":
                protocol = environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
                protocol = protocol or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "grpc"
                entry = _PROTOCOLS.get(protocol.strip(), protocol)
            if entry in ("", "none") or entry in installed:
                continue
            fix = ', its default (pip install "spanhook[grpc]")' if entry == _PROTOCOLS["grpc"] else ""
            yield f"lack of the {entry} exporter{fix}"
            return


def _names(group: str) -> set[str]:
    return {entry.name for entry in metadata.entry_points(group=group)}
