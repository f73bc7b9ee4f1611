"""Identifies calls by method and path."""

from collections.abc import Callable, Mapping
from typing import Any

from spanhook.instrument.speakeasy.requests import request_of
from spanhook.instrument.wire import Paths
from spanhook.model import Adapter, Args, Kwargs


def chooser(adapters: Mapping[str, Adapter]) -> Callable[[Any, Args, Kwargs], Adapter | None]:
    """A function that finds a request's adapter by the end of its path; it returns ``None`` if the request does not
    call a model.
    """
    ending = Paths(adapters).ending

    def choose(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
        request = request_of(args, kwargs)
        return adapters.get(ending(request.url.path)) if request.method == "POST" else None

    return choose
