"""Activates what the application asks for in code: the only module that knows every package below."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, cast

from opentelemetry._logs import LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from spanhook import semconv
from spanhook.concurrency import ready_for_exit
from spanhook.config.bound import release_functions
from spanhook.config.gauges import info, points
from spanhook.config.requirements import require_bound
from spanhook.config.use import Use
from spanhook.diagnostics import log
from spanhook.engine import attach, bound_libraries, detach, listening, registry, swallowing
from spanhook.errors import ConfigurationError
from spanhook.gating import Hook, Hooks, Limits, Offers, Placed, execution_log, hooks_of
from spanhook.instrument import (
    Instrumentor,
    Rule,
    installed,
    named,
    names,
    one_moment,
    providers,
    swallowers,
    telling,
    threads,
    watch,
)
from spanhook.model import frames
from spanhook.settings import Settings
from spanhook.telemetry import prices, telemetry

Given = Hooks | Hook | Offers
"""The forms in which hooks can be given."""

swallowing.update(swallowers())
_active: list[Instrumentor] = []


_use: Use | None = None
"""``None`` while nothing is instrumented."""


def instrument(
    hooks: Given | Iterable[Given] | None = None,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    logger_provider: LoggerProvider | None = None,
    only: Iterable[str] | None = None,
    require: Iterable[str] = (),
    settings: Settings | None = None,
) -> None:
    """Trace, gate and count every operation of the libraries that are installed.

    Libraries are bound when they are imported, whether that has happened or is still to come; nothing is imported
    for it. Called again, it adds hooks and libraries and replaces the providers that are given. If it raises,
    everything is as it was before.

    Args:
        hooks: Registries or single hooks to activate, or objects built on them, such as ``spanhook.runs.RunHooks``.
        tracer_provider, meter_provider, logger_provider: Where telemetry goes; the global providers unless given,
            even if they are set later.
        only: Libraries to bind; all that are installed unless given. Of what it leaves out nothing is said, and
            ``strict`` lets it be.
        require: Libraries that must be bound completely, at a supported version. They are imported now.
        settings: How to behave beyond that.

    Raises:
        ConfigurationError: Something given cannot be used.
        RequirementError: A required library is not installed, not supported, or not bound completely; or, by
            ``Settings(strict=True)``, an agent library is imported that is not bound.
    """
    if settings is not None and not isinstance(settings, Settings):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"settings={settings!r}; pass spanhook.Settings(...)")
    given = _given(hooks)
    with one_moment():
        wanted = list(installed(only))
        unsupported = [library for library in wanted if not library.supported]
    required = names(require)
    allowed = None if settings is None else named(settings.allow)
    with ExitStack() as undo:
        undo.callback(setattr, registry, "examine", registry.examine)
        registry.examine = None  # until libraries are bound
        use = _report(Use(settings, tracer_provider, meter_provider, logger_provider), undo)
        undo.callback(registry.mark())
        for one in given:
            if isinstance(one, Hooks):
                registry.include(one)
            else:
                registry.join(one)
        if settings is not None and settings.definitions_dir is not None:
            _define(settings.definitions_dir)
        undo.callback(listening())
        attach(use.tracer_provider)
        added = [library for library in wanted if library not in _active]
        for library in added:
            _bind(library, undo)
        _watch(use.settings or Settings(), allowed, undo, everything=only is None)
        require_bound(required)
        watch.check()
        prices.load()
        ready_for_exit()
        registry.examine = telling(_active)
        undo.pop_all()
    for library in (one for one in unsupported if one in added):
        log.warning(
            "spanhook: %s %s is outside of what is supported (%s); it is bound all the same",
            library.library,
            library.version,
            library.requirement,
        )
    watch.tell()
    registry.rebuild()


def _define(directory: str) -> None:
    """Put the definitions of a directory in force."""
    from spanhook.definitions import get_registry

    definitions = get_registry()
    definitions.load(directory)
    registry.include(definitions.hooks)


def _given(hooks: Any) -> list[Hooks | Hook]:
    """Each of the hooks that were given, if they are such."""
    several = isinstance(hooks, Iterable) and not isinstance(hooks, Hooks | str)
    given: list[Any] = [] if hooks is None else [hooks]
    if several:
        given = list(cast("Iterable[Any]", hooks))
    found: list[Hooks | Hook] = []
    for one in given:
        offered = hooks_of(one)
        if offered is not None:
            found.append(offered)
        else:
            hint = "; import it, or name it with spanhook run --hooks" if isinstance(one, str) else ""
            is_callable = callable(one)
            if isinstance(one, type) and issubclass(one, Hook):
                hint = f"; it is a class: give an object of it, such as {one.__name__}()"
            elif is_callable:
                hint = "; give the Hooks that a function was registered on"
            with Placed():
                raise ConfigurationError(f"{one!r} is neither a spanhook.Hooks nor a spanhook.Hook{hint}")
    return found


def in_force(hooks: Hooks) -> bool:
    """Whether a registry is active."""
    return registry.has(hooks)


def exchange(out: Sequence[Hooks], into: Sequence[Hooks], settings: Settings | None) -> None:
    """Replace some registries with others. If it raises, nothing has changed.

    Operations in progress keep the hooks that they started with.

    Args:
        out: The registries to remove.
        into: The registries to activate.
        settings: New settings; ``None`` to keep the present ones.

    Raises:
        ConfigurationError: An event would have too many hooks, or a setting cannot be used.
        RequirementError: ``settings`` are strict, and an unbound agent library is imported.
    """
    allowed = None if settings is None else named(settings.allow)
    with ExitStack() as undo:
        undo.callback(registry.exchange(out, into, registry.limits if settings is None else limits_of(settings)))
        if settings is not None and _use is not None:
            before, since = _use, telemetry._since
            undo.callback(_apply, before)
            _apply(before._replace(settings=settings))
            telemetry._since = since
            _watch(settings, allowed, undo, everything=False)
            watch.check()
        registry.rebuild()
        undo.pop_all()
    watch.tell()


def _report(asked: Use, undo: ExitStack) -> Use:
    """Report as asked, and hear of providers that are made later."""
    before, since = _use, telemetry._since
    use = asked.over(before)
    if before is None:
        undo.callback(_stop)
        providers.bind()
        threads.bind()
    elif not use.is_like(before):

        def back() -> None:
            _apply(before)
            telemetry._since = since

        undo.callback(back)
    if not use.is_like(before):
        _apply(use)
    return use


def _apply(use: Use) -> None:
    global _use
    telemetry.configure(
        use.settings or Settings(),
        use.tracer_provider,
        use.meter_provider,
        use.logger_provider,
        {semconv.METRIC_INFO: info, semconv.METRIC_POINTS: partial(points, _active)},
    )
    _use = use
    settings = telemetry.settings
    registry.mode = settings.mode if settings.hooks_enabled else "off"
    registry.limits = limits_of(settings)
    registry.tenant_metrics = telemetry.settings.tenant_metrics
    execution_log.configure(settings.execution_log_size, settings.execution_log_retention_hours * 3600)
    registry.listeners = (execution_log.note,) if settings.execution_log_enabled else ()
    frames.stay = telemetry.settings.full_tracebacks
    registry.rebuild()


def limits_of(settings: Settings) -> Limits:
    """The limits that settings set to hooks."""
    timeout = settings.default_timeout_ms
    return Limits(
        None if timeout is None else max(1, int(timeout * 1e6)), settings.fail_open_default, settings.max_per_event
    )


def _stop() -> None:
    global _use
    _use = None
    providers.restore()
    threads.restore()
    telemetry.stop()
    registry.mode, registry.limits = "enforce", Limits()
    registry.listeners = ()
    registry.tenant_metrics = frames.stay = False


def _bind(library: Instrumentor, undo: ExitStack) -> None:
    undo.callback(_unbind, library)
    _active.append(library)
    bound_libraries[library.library] = library.declared
    library.instrument(skip_dep_check=True)


def _watch(settings: Settings, allowed: frozenset[str] | None, undo: ExitStack, *, everything: bool) -> None:
    """Watch for libraries that are not bound, once all were to be."""
    before = watch.rule
    undo.callback(watch.follow, before)
    allowed = before.allowed if allowed is None else allowed
    watch.follow(Rule(everything or before.everything, settings.strict, allowed))


def _unbind(library: Instrumentor) -> None:
    if library.is_instrumented_by_opentelemetry:
        library.uninstrument()
    else:  # it broke half way
        library.bindings.restore()
    _active.remove(library)
    bound_libraries.pop(library.library, None)


def uninstrument() -> None:
    """Take every wrapper off and every hook out. Operations under way end as they would have."""
    watch.follow(Rule())
    registry.examine = None
    release_functions()
    for library in reversed(list(_active)):
        _unbind(library)
    detach()
    registry.clear()
    _stop()
