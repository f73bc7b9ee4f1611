"""Activates spanhook as a variant asks; it is imported only then."""

from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks import ready_made
from benchmarks.providers import Providers
from benchmarks.variants import Variant


def instrument(variant: Variant, providers: Providers, more: Iterable[Any]) -> None:
    """Instrument this process.

    Args:
        more: Further registries of hooks.
    """
    import spanhook

    hooks = spanhook.Hooks()
    for index in range(variant.hooks):
        hooks.before(*variant.kinds, name=f"hook {index}")(_asynchronous if variant.asynchronous else _nothing)
    if variant.mixed:
        hooks.before(*variant.kinds)(_nothing)
        hooks.after(*variant.kinds)(_nothing)
        hooks.around(*variant.kinds)(_around)
    if variant.ready:
        hooks.add(ready_made.made(variant.ready))
    if variant.subscribed:
        for kind in variant.kinds:
            hooks.on(kind, _nothing)
    spanhook.instrument(
        [hooks, *more],
        tracer_provider=providers.tracers,
        meter_provider=providers.meters,
        logger_provider=providers.loggers,
        settings=spanhook.Settings(content="SPAN_ONLY" if variant.content else "NO_CONTENT"),
    )


def _nothing(_op: Any) -> None:
    pass


def _around(_op: Any) -> Iterator[None]:
    yield


async def _asynchronous(_op: Any) -> None:
    pass
