"""The providers that we create, in forked children: they do nothing there until the first item comes.

In every child, the SDK's handlers start threads and run resource detectors in a thread pool, for which they wait. Under
gevent, that runs the application's greenlets in the child of each ``subprocess``, before its program begins.
"""

import os
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context
from threading import Thread as _Thread
from typing import Any
from uuid import uuid4

from opentelemetry.sdk.environment_variables import OTEL_RESOURCE_ATTRIBUTES
from opentelemetry.sdk.resources import PROCESS_PARENT_PID, PROCESS_PID, SERVICE_INSTANCE_ID, Resource

from spanhook.diagnostics import internal
from spanhook.fork import after_fork, kept_from_forks
from spanhook.telemetry import own_providers

_DETECTING = "_get_process_dependent_resource"
_MODULES = ("opentelemetry.sdk.trace", "opentelemetry.sdk.metrics._internal", "opentelemetry.sdk._logs._internal")
"""Modules of the SDK whose handlers run detectors, by this function."""

_handlers: list[Callable[[], Any]] = []
_providers: list[Any] = []


class Sleeping:
    """Threads that begin with the first item in this process, and what items come to.

    Attributes:
        threads: The threads.
    """

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self._entrances: list[tuple[Any, str]] = []

    def at(self, owner: Any, method: str) -> bool:
        """Wake when this method is called; returns whether there is one."""
        entrance = getattr(owner.__class__, method, None)
        if entrance is None:
            return False

        def come(*args: Any, **kwargs: Any) -> Any:
            self.wake()
            return entrance(owner, *args, **kwargs)

        setattr(owner, method, come)
        self._entrances.append((owner, method))
        return True

    def wake(self) -> None:
        """Start what sleeps; once, whoever comes first."""
        while self._entrances:
            with suppress(IndexError, AttributeError):
                delattr(*self._entrances.pop())
        while self.threads:
            with suppress(IndexError):
                _start(self.threads.pop())


def _start(thread: threading.Thread) -> None:
    try:
        Context().run(thread.start)  # else it would belong to a hook that makes the first item
    except Exception as error:  # as in a process that may have no more threads: no item fails for that
        internal.report("providers.fork", error)
    else:
        vars(thread).pop("join", None)


def created(make: Callable[[Resource, list[Any]], Any], resource: Resource, exporters: list[Any]) -> Any:
    """A provider whose workers start with the first item in each process, except in this one, where they start now."""
    with kept_from_forks(_handlers):
        provider = make(resource, exporters)
    _providers.append(provider)
    own_providers[provider] = None
    return provider


def _renew() -> None:
    """In a forked child: run the SDK's handlers, but start no thread and run no detector."""
    if not _handlers:
        return
    sleeping = Sleeping()
    with _held_back(sleeping.threads), _without_detectors():
        for handler in _handlers:
            try:
                handler()
            except Exception as error:
                internal.report("providers.fork", error)
    for thread in sleeping.threads:
        thread.join = _joined  # type: ignore[method-assign]  # shutting down would fail for one that has not begun
    entrances = [sleeping.at(owner, method) for owner, method in _entrances()]
    if not all(entrances) or not entrances:
        sleeping.wake()  # of another SDK: better a thread too many than none


def _entrances() -> Sequence[tuple[Any, str]]:
    """The methods of the SDK to which every item comes."""
    found = list[tuple[Any, str]]()
    for provider in _providers:
        consumer = getattr(provider, "_measurement_consumer", None)
        if consumer is not None:
            found += (consumer, "consume_measurement"), (consumer, "register_asynchronous_instrument")
        for several in ("_active_span_processor", "_multi_log_record_processor"):
            together = getattr(provider, several, None)
            for processor in getattr(together, "_span_processors", getattr(together, "_log_record_processors", ())):
                batch = getattr(processor, "_batch_processor", None)
                if batch is not None:
                    found.append((batch, "emit"))
    return found


def _joined(timeout: float | None = None) -> None:
    """``Thread.join`` of a thread that has not begun."""


@contextmanager
def _held_back(threads: list[threading.Thread]) -> Generator[None]:
    """Threads that are started in the block are added to ``threads`` instead; no other thread runs here yet."""

    def hold_back(thread: threading.Thread) -> None:
        threads.append(thread)

    # gevent puts a class of its own in place of the one that others may have imported before.
    classes = {*_Thread.__mro__, *threading.Thread.__mro__}
    starts = [(cls, vars(cls)["start"]) for cls in classes if "start" in vars(cls)]
    for cls, _ in starts:
        cls.start = hold_back  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        for cls, start in starts:
            cls.start = start  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


@contextmanager
def _without_detectors() -> Generator[None]:
    resource = _of_this_process()
    modules: dict[Any, Any] = {}
    for name in _MODULES:
        module = sys.modules.get(name)
        if hasattr(module, _DETECTING):  # SDK 1.39 has none
            modules[module] = getattr(module, _DETECTING)
            setattr(module, _DETECTING, lambda: resource)
    try:
        yield
    finally:
        for module, detect in modules.items():
            setattr(module, _DETECTING, detect)


def _of_this_process() -> Resource:
    """What the SDK's detectors would find that is not as in the parent."""
    attributes: dict[str, str | int] = {}
    if SERVICE_INSTANCE_ID not in os.environ.get(OTEL_RESOURCE_ATTRIBUTES, ""):
        attributes[SERVICE_INSTANCE_ID] = str(uuid4())
    if any(PROCESS_PID in getattr(getattr(one, "resource", None), "attributes", ()) for one in _providers):
        attributes |= {PROCESS_PID: os.getpid(), PROCESS_PARENT_PID: os.getppid()}
    return Resource(attributes)


after_fork("providers", _renew)
