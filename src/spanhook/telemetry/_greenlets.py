"""Providers of others beside gevent: what the SDK does in forked children runs the application's greenlets there."""

import sys
from typing import Any

from opentelemetry import _logs, metrics, trace

from spanhook.diagnostics import internal, log
from spanhook.fork import Lock, held_for_fork
from spanhook.identity import ByIdentity, attribute

own_providers = ByIdentity[Any, None]()
"""Providers that we have created, which do nothing in forked children."""

_HANDLER = "_handle_fork"
_state = {"warned": False}


def forking() -> list[str]:
    """The global providers of others that start threads in forked children, or wait there, by their classes."""
    providers = (trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider())
    return sorted({_name(one) for one in providers if one not in own_providers and _is_forking(one)})


def is_patched() -> bool:
    """Whether gevent has made threads of this process greenlets."""
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))


def _is_forking(provider: Any) -> bool:
    # Logfire's providers have the SDK's as an attribute.
    return any(
        attribute(one, _HANDLER) is not None or _has_worker(one) for one in (provider, attribute(provider, "provider"))
    )


def _has_worker(provider: Any) -> bool:
    """Whether it has a processor or reader with a thread."""
    several = (
        *attribute(attribute(provider, "_active_span_processor"), "_span_processors", ()),
        *attribute(attribute(provider, "_multi_log_record_processor"), "_log_record_processors", ()),
        *attribute(attribute(provider, "_sdk_config"), "metric_readers", ()),
    )
    return any(attribute(one, "_batch_processor") or attribute(one, "_daemon_thread") for one in several)


def _name(provider: Any) -> str:
    return f"{type(provider).__module__}.{type(provider).__qualname__}"


def _warn(_held: list[Lock]) -> None:
    """Before a fork: say once what happens in the child."""
    if _state["warned"] or not is_patched():
        return
    try:
        found = forking()
    except Exception as error:
        internal.report("providers.fork", error)
        return
    if found:
        _state["warned"] = True
        log.warning("spanhook: %s", forking_warning(found))


def forking_warning(found: list[str]) -> str:
    """What is wrong with these providers."""
    return (
        f"{', '.join(found)} starts threads in every child of a fork; under gevent, the application's greenlets then "
        "run in the child of each subprocess, too. Let `spanhook run` create the providers "
        "(OTEL_EXPORTER_OTLP_ENDPOINT), or call gevent.monkey.patch_all(subprocess=False, os=False)"
    )


held_for_fork(_warn)
