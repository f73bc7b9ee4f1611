"""Other instrumentations of the measured libraries, by the distributions that are installed beside spanhook."""

from importlib import metadata

from opentelemetry.trace import TracerProvider

from benchmarks.variants import Variant

_GROUP = "opentelemetry_instrumentor"


def peers() -> list[Variant]:
    """A variant for each distribution here that instruments something, in the order of their names.

    Those of web frameworks and HTTP clients count too: they are what an application pays beside spanhook.
    """
    names = sorted({entry.dist.name for entry in metadata.entry_points(group=_GROUP) if entry.dist is not None})
    return [Variant(name=name, about=f"{name} {metadata.version(name)}", peer=name) for name in names]


def instrument(peer: str, provider: TracerProvider) -> None:
    """Activate every instrumentor of the distribution that is called ``peer``, as ``opentelemetry-instrument`` does."""
    for entry in metadata.entry_points(group=_GROUP):
        if entry.dist is not None and entry.dist.name == peer:
            entry.load()().instrument(tracer_provider=provider)


def packages(peer: str) -> tuple[str, ...]:
    """The import names of what the distribution that is called ``peer`` instruments with; nothing for no peer."""
    entries = metadata.entry_points(group=_GROUP) if peer else ()
    return tuple(
        entry.module.partition(".")[0] for entry in entries if entry.dist is not None and entry.dist.name == peer
    )
