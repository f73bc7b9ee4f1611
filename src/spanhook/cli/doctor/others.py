"""Which other installed packages record the same calls: their spans appear beside ours, never instead."""

from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata

from spanhook.cli.doctor.report import Other
from spanhook.instrument import INSTRUMENTORS

_PREFIXES = (
    "openinference-instrumentation-",
    *(
        f"opentelemetry-instrumentation-{word.replace('_', '-')}"
        for one in INSTRUMENTORS.values()
        for word in one.words
    ),
    "opentelemetry-instrumentation-genai-",
    "opentelemetry-util-genai-",
)
_LOADED = "under opentelemetry-instrument, or where the application instruments with it"

#: Distributions that record LLM calls if the application activates them.
_ON_CALL = {
    "traceloop-sdk": "if the application calls Traceloop.init()",
    "arize-phoenix-otel": "if the application calls phoenix.otel.register(auto_instrument=True)",
    "logfire": "if the application calls logfire.instrument_openai() or the like",
    "langfuse": "if the application uses its callback handler or langfuse.openai",
    "openlit": "if the application calls openlit.init()",
    "mlflow": "if the application calls mlflow.openai.autolog() or the like",
    "agentops": "if the application calls agentops.init()",
    "weave": "if the application calls weave.init()",
    "opik": "if the application uses its tracer",
    "ddtrace": "under ddtrace-run, or if the application imports ddtrace.auto",
    "newrelic": "under newrelic-admin run-program",
    "sentry-sdk": "if the application calls sentry_sdk.init() with tracing",
}
_LANGSMITH = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2")
_LANGSMITH_OTEL = "LANGSMITH_OTEL_ENABLED"


def others(libraries: Iterable[str], environ: Mapping[str, str]) -> list[Other]:
    """What else records calls of ``libraries``."""
    ours = set(libraries)
    told = (*_entry_points(ours), *_distributions(ours), *_langsmith(ours, environ), *_anthropic(ours, environ))
    found = {other.name: other for other in told}
    return sorted(found.values(), key=lambda other: other.name)


def _entry_points(ours: set[str]) -> Iterator[Other]:
    for entry in metadata.entry_points(group="opentelemetry_instrumentor"):
        name = entry.dist.name if entry.dist is not None else entry.name
        common = _common(f"{entry.name} {name}", ours)
        if common and not name.startswith("spanhook"):
            yield Other(name, entry.dist.version if entry.dist is not None else "", common, _LOADED)


def _distributions(ours: set[str]) -> Iterator[Other]:
    for distribution in metadata.distributions():
        name = (distribution.name or "").lower().replace("_", "-")
        if name in _ON_CALL and ours:
            yield Other(name, distribution.version, tuple(sorted(ours)), _ON_CALL[name])
        elif name.startswith(_PREFIXES) and (common := _common(name, ours)):
            yield Other(name, distribution.version, common, _LOADED)


def _langsmith(ours: set[str], environ: Mapping[str, str]) -> Iterator[Other]:
    on = [name for name in _LANGSMITH if environ.get(name, "").strip().lower() == "true"]
    common = tuple(sorted(ours & {"langchain_core", "langgraph"}))
    if on and common:
        spans = environ.get(_LANGSMITH_OTEL, "").strip().lower() == "true"
        what = "as OpenTelemetry spans too" if spans else "to LangSmith, not as OpenTelemetry spans"
        yield Other("langsmith", _version("langsmith"), common, f"{on[0]}=true: {what}")


def _anthropic(ours: set[str], environ: Mapping[str, str]) -> Iterator[Other]:
    """Anthropic's SDK traces itself, from the version on that requires OpenTelemetry."""
    if "anthropic" not in ours or environ.get("ANTHROPIC_OPEN_TELEMETRY", "").strip().lower() == "false":
        return
    try:
        needs = metadata.requires("anthropic") or []
    except metadata.PackageNotFoundError:
        return
    if any(one.startswith("opentelemetry-api") for one in needs):
        yield Other("anthropic", _version("anthropic"), ("anthropic",), "itself, unless ANTHROPIC_OPEN_TELEMETRY=false")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _common(words: str, ours: set[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in ours if INSTRUMENTORS[name].recognises(words)))
