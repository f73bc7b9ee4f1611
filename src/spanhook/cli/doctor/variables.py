"""Environment variables that are wrong, ignored, or mean something else than they seem to."""

import difflib
from collections.abc import Iterator, Mapping

from spanhook.bootstrap import INTERNAL, SETTINGS, read_environment
from spanhook.cli.doctor.report import Finding
from spanhook.errors import ConfigurationError
from spanhook.export import SIGNALS
from spanhook.settings import CONTENT_VARIABLE, Settings

_SAMPLERS = ("always_on", "always_off", "traceidratio")
_SAMPLER, _DISABLED = "OTEL_TRACES_SAMPLER", "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"
_CONFIGURATOR_ONLY = (
    "OTEL_CONFIG_FILE",
    "OTEL_PYTHON_ID_GENERATOR",
    *(f"OTEL_PYTHON_{signal}_CONFIGURATOR" for signal in ("TRACER", "METER", "LOGGER")),
)
_GRPC_PORT = ":4317"


def usable(environ: Mapping[str, str]) -> tuple[dict[str, str], list[Finding]]:
    """The environment without invalid ``SPANHOOK_*`` variables, and what is wrong with them."""
    kept, wrong = dict(environ), list[Finding]()
    for name in SETTINGS:
        try:
            read_environment({name: environ.get(name, "")})
        except ConfigurationError as error:
            del kept[name]
            wrong.append(Finding("configuration", name, str(error)))
    return kept, wrong


def examine(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Everything else about the environment that a user of spanhook should know."""
    yield from _unread(environ)
    yield from _telemetry_off(environ)
    if environ.get(CONTENT_VARIABLE, "").strip():
        yield from _content()
    yield from _endpoints(environ)
    if environ.get(_DISABLED):
        yield Finding(
            "note",
            _DISABLED,
            "does not turn spanhook off, not even '*': it is loaded from opentelemetry_pre_instrument",
        )
    for name in _CONFIGURATOR_ONLY:
        if environ.get(name):
            yield Finding("warning", name, "is for the SDK's configurator: only opentelemetry-instrument reads it")


def _unread(environ: Mapping[str, str]) -> Iterator[Finding]:
    known = (*SETTINGS, *INTERNAL)
    for name in sorted(environ):
        if name.startswith("SPANHOOK") and name not in known:
            close = difflib.get_close_matches(name, SETTINGS, 1, 0.7)
            yield Finding("warning", name, "is unknown" + "".join(f"; did you mean {one}?" for one in close))


def _telemetry_off(environ: Mapping[str, str]) -> Iterator[Finding]:
    disabled = environ.get("OTEL_SDK_DISABLED", "").strip().lower()
    if disabled == "true":
        yield Finding("note", "OTEL_SDK_DISABLED", "no spans, metrics or log events; hooks still gate")
    elif disabled not in ("", "false"):
        yield Finding("warning", "OTEL_SDK_DISABLED", f"{disabled!r} counts as false; only true disables the SDK")
    sampler = environ.get(_SAMPLER, "").strip()
    plain = sampler.lower().removeprefix("parentbased_")
    if sampler and plain not in _SAMPLERS:
        yield Finding(
            "warning", _SAMPLER, f"{sampler!r} is unknown to the SDK, which uses parentbased_always_on instead"
        )
    elif plain == "always_off":
        yield Finding("note", _SAMPLER, "no spans; hooks still gate, and usage and decisions are still counted")


def _content() -> Iterator[Finding]:
    try:
        captured = Settings().captured()
    except ConfigurationError as error:
        yield Finding("configuration", CONTENT_VARIABLE, str(error))
        return
    if captured != "NO_CONTENT":
        yield Finding("note", CONTENT_VARIABLE, f"{captured}: prompts, completions, arguments and results are recorded")


def _endpoints(environ: Mapping[str, str]) -> Iterator[Finding]:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", *(f"OTEL_EXPORTER_OTLP_{one.upper()}_ENDPOINT" for one in SIGNALS)):
        value = environ.get(name, "").strip().rstrip("/")
        protocol = environ.get(name.replace("ENDPOINT", "PROTOCOL")) or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or ""
        if not value or protocol.strip() == "grpc":
            continue
        if "://" not in value:
            yield Finding("warning", name, f"{value!r} has no scheme; write http://{value}")
        elif value.endswith(_GRPC_PORT):
            yield Finding("warning", name, "4317 is the gRPC port; use 4318, or set OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
