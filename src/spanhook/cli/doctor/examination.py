"""Examines everything: imports the libraries, loads the hooks, and leaves nothing installed."""

import importlib.util
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import metadata
from typing import Any

from spanhook.bootstrap import Wanted, read_environment
from spanhook.cli.doctor.configured import configured, followed, of_aegra, reported
from spanhook.cli.doctor.loader import loader
from spanhook.cli.doctor.others import others
from spanhook.cli.doctor.report import Finding, HookFound, Library, Report, SignalFound, Telemetry
from spanhook.cli.doctor.unbound import everything, self_tracing, unbound
from spanhook.cli.doctor.variables import examine, usable
from spanhook.config import (
    ConfigurationFile,
    bind_functions,
    bound_functions,
    instrument,
    is_function,
    load_hooks,
    load_own,
    require_bound,
    unbound_functions,
    uninstrument,
)
from spanhook.errors import ConfigurationError, ConfigurationFileError, RequirementError
from spanhook.export import SIGNALS, asked, disabled, endpoint, existing
from spanhook.gating import AFTER, AFTER_NEXT, ERROR, Bound, Hook, Hooks, Subscription
from spanhook.instrument import INSTRUMENTORS, instrumentor_of, meant
from spanhook.settings import CONTENT_VARIABLE
from spanhook.telemetry import forking, forking_warning
from spanhook.version import __version__


def examination(environ: Mapping[str, str], **given: Any) -> Report:
    """Examine this environment as ``spanhook run`` with these options would find it, in the working directory."""
    kept, findings = usable(environ)
    wanted = read_environment(kept, **given)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    file, settings, wrong = configured(wanted)
    findings += wrong
    registries, wrong = _loaded(wanted, file)
    findings += wrong
    aegra, more, wrong = of_aegra(wanted)
    findings += wrong
    registries += [one for one in more if one not in registries]
    try:
        instrument(registries, settings=replace(settings, strict=False, content="NO_CONTENT", allow=everything()))
        libraries = tuple(_library(name) for name in INSTRUMENTORS)
        functions = bound_functions(file)
        findings += _unmet(one for one in wanted.require if not is_function(one, functions))
        findings += _unbound_functions(file, [one for one in wanted.require if is_function(one, functions)])
        not_bound, wrong = unbound(settings)
        findings += wrong
    finally:
        uninstrument()
    telemetry, wrong = _telemetry(environ)
    findings += wrong
    installed = [library.name for library in libraries if library.version]
    findings += [
        *_gaps(libraries, wanted.require),
        *_beyond(libraries),
        *examine(environ),
        *loader(environ),
        *_prices(),
        *_forking(),
        *reported(file),
    ]
    configuration, wrong = followed(wanted, file, settings)
    findings += wrong
    return Report(
        spanhook=__version__,
        python=platform.python_version(),
        executable=sys.executable,
        mode=settings.mode,
        libraries=libraries,
        unbound=tuple(not_bound),
        hooks=tuple(_hooks(registries)),
        telemetry=telemetry,
        others=tuple(others(installed, environ)),
        self_tracing=tuple(self_tracing()),
        findings=tuple(findings),
        configuration=configuration,
        aegra=aegra,
    )


def _loaded(wanted: Wanted, file: ConfigurationFile | None) -> tuple[list[Hooks], list[Finding]]:
    found, wrong = list[Hooks](), list[Finding]()
    for spec in dict.fromkeys(wanted.hooks):
        try:
            loaded = load_hooks(spec)
            found.append(Hooks(loaded) if isinstance(loaded, Hook) else loaded)
        except ConfigurationError as error:
            wrong.append(Finding("configuration", "hooks", str(error).removeprefix("hooks ")))
    if file is not None:
        try:
            found += () if wanted.hooks else load_own(file).registries
            found.append(file.registry())
        except ConfigurationError as error:
            wrong.append(Finding("configuration", "config", str(error)))
    return found, wrong


def _library(name: str) -> Library:
    found = instrumentor_of(name)
    if found.version:
        found.load()
    return Library(
        name=name,
        requirement=found.requirement,
        version=found.version,
        supported=bool(found.version) and found.supported,
        points=dict(found.states),
        optional=tuple(str(entry) for entry in found.table if not found.bindings.needs(entry)),
        ungated=tuple(found.unbound()),
        late=found.declared.late,
    )


def _unmet(required: Iterable[str]) -> Iterator[Finding]:
    for name in required:
        try:
            require_bound([name])
        except RequirementError as error:
            yield Finding("requirement", "require", str(error))
        except ConfigurationError as error:
            yield Finding("configuration", "require", str(error))


def _unbound_functions(file: ConfigurationFile | None, required: list[str]) -> Iterator[Finding]:
    """Functions that the file names as tools or agents and that cannot be bound."""
    if file is None:
        return
    try:
        bind_functions(file)
    except ConfigurationFileError as error:
        yield from (Finding("configuration", "bind", str(one)) for one in error.mistakes)
        return
    lacking = unbound_functions()
    for function in bound_functions(file):
        why = lacking.get(str(function))
        if why is not None:
            needed = any(is_function(name, (function,)) for name in required)
            yield Finding("requirement" if needed else "warning", "bind", f"{function} is not bound: {why}")


def _gaps(libraries: Iterable[Library], required: Iterable[str]) -> Iterator[Finding]:
    checked = {meant(name) for name in required}
    for library in libraries:
        if not library.version or library.name in checked:
            continue
        if not library.supported:
            text = f"version {library.version} is not supported ({library.requirement}); it is bound anyway"
            yield Finding("warning", library.name, text)
        if library.missing:
            yield Finding("warning", library.name, f"calls by {', '.join(library.missing)} are not gated")
        if library.ungated:
            text = f"{', '.join(library.ungated)} cannot be bound, so calls to them are not gated"
            yield Finding("warning", library.name, text)


def _beyond(libraries: Iterable[Library]) -> Iterator[Finding]:
    """What installed libraries do where they cannot be gated."""
    for library in libraries:
        told = INSTRUMENTORS[library.name].beyond
        if library.version and told:
            yield Finding("note", library.name, told)


def _hooks(registries: Iterable[Hooks]) -> Iterator[HookFound]:
    for bound in dict.fromkeys(one for registry in registries for one in registry.bound):
        limit = None if bound.timeout_ns is None else bound.timeout_ns / 1e9
        events = tuple(f"{kind}.{phase}" for kind in sorted(bound.kinds) for phase in _phases(bound, kind))
        yield HookFound(
            bound.name,
            events,
            bound.form,
            bound.priority,
            bound.fail_mode,
            limit,
            bound.tenant_id,
            holds_back=bound.buffers,
            windows=bound.windows,
        )


def _phases(bound: Bound, kind: str) -> tuple[str, ...]:
    if isinstance(bound.hook, Subscription):
        return bound.hook.topic.phases_of(kind)
    return ("post",) if bound.form in (AFTER, AFTER_NEXT) else ("error",) if bound.form == ERROR else ("pre",)


def _telemetry(environ: Mapping[str, str]) -> tuple[Telemetry, list[Finding]]:
    wrong = list[Finding]()
    exporters: dict[str, tuple[str, ...]] = {}
    try:
        exporters = asked(environ)
    except ConfigurationError as error:
        variable, _, text = str(error).partition("=")
        wrong.append(Finding("configuration", variable, text))
    signals = tuple(
        SignalFound(
            signal, _name_of(existing(signal)), tuple(_to(signal, one, environ) for one in exporters.get(signal, ()))
        )
        for signal in SIGNALS
    )
    return (
        Telemetry(
            sdk=metadata.version("opentelemetry-sdk"),
            disabled=disabled(environ),
            sampler=environ.get("OTEL_TRACES_SAMPLER", "").strip() or "parentbased_always_on",
            content=environ.get(CONTENT_VARIABLE, "").strip() or "NO_CONTENT",
            signals=signals,
        ),
        wrong,
    )


def _name_of(provider: Any) -> str:
    return "" if provider is None else f"{type(provider).__module__}.{type(provider).__qualname__}"


def _to(signal: str, exporter: str, environ: Mapping[str, str]) -> str:
    return f"{exporter} to {endpoint(signal, exporter, environ)}" if exporter.startswith("otlp") else exporter


def _forking() -> Iterator[Finding]:
    found = forking()
    if found and importlib.util.find_spec("gevent") is not None:
        yield Finding("warning", "providers", forking_warning(found))


def _prices() -> Iterator[Finding]:
    if importlib.util.find_spec("genai_prices") is None:
        yield Finding("note", "prices", "genai-prices is not installed, so no model has a price and no cost is counted")
