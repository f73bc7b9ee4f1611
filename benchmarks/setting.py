"""Putting spanhook in force as a variant says; it is imported only where that is done."""

from collections.abc import Iterable
from typing import Any

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
    spanhook.instrument(
        [hooks, *more],
        tracer_provider=providers.tracers,
        meter_provider=providers.meters,
        logger_provider=providers.loggers,
        settings=spanhook.Settings(content="SPAN_ONLY" if variant.content else "NO_CONTENT"),
    )


def _nothing(_op: Any) -> None:
    pass


async def _asynchronous(_op: Any) -> None:
    pass
