"""Identifies calls by method and path."""

from collections.abc import Callable, Mapping
from typing import Any

from spanhook.instrument.stainless.options import options_of, settle
from spanhook.instrument.wire import Paths
from spanhook.model import Adapter, Args, Kwargs


def chooser(adapters: Mapping[str, Adapter]) -> Callable[[Any, Args, Kwargs], Adapter | None]:
    """A function that finds a request's adapter by the end of its path; it returns ``None`` if the request does not
    call a model.
    """
    ending = Paths(adapters).ending

    def choose(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
        options = options_of(args, kwargs)
        if options.method.lower() != "post":
            return None
        # a missing prefix may be in the client's own address
        adapter = adapters.get(ending(options.url) or ending(whole(instance, options.url)))
        if adapter is not None:
            settle(options)
        return adapter

    return choose


def whole(client: Any, url: str) -> str:
    """The path as sent: appended to the client's own, unless it is an absolute address."""
    return url if "://" in url else f"{client._base_url.path}/{url}"
