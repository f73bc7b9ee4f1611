"""Identifies calls by the end of their path, in every form that clients write and servers accept."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from spanhook.instrument.stainless._settled import settle
from spanhook.instrument.stainless.options import options_of
from spanhook.model import Adapter, Args, Kwargs


class Paths:
    """The paths that an API knows.

    Args:
        known: Ends of paths, in which a star stands for an id.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._endings = tuple(sorted((tuple(path[1:].split("/")) for path in known), key=len, reverse=True))
        self.ending = lru_cache(1000)(self._ending)
        """The known path that an address ends in, or empty."""

    def _ending(self, url: str) -> str:
        """The known path that an address ends in. Percent-encoding, upper case, doubled slashes and dots are ignored,
        because some servers ignore them.
        """
        segments: list[str] = []
        path = url.partition("#")[0].partition("?")[0]
        for _ in range(3):
            path = unquote(path)
        for said in path.replace("\\", "/").lower().split("/"):
            segment = said.partition(";")[0].partition("?")[0].partition("#")[0].strip()
            if segment == "..":
                del segments[-1:]
            elif segment and segment != ".":
                segments.append(segment)
        for known in self._endings:  # longest first
            last = segments[-len(known) :]
            if len(last) == len(known) and all(one in ("*", there) for one, there in zip(known, last, strict=True)):
                return f"/{'/'.join(known)}"
        return ""

    def of(self, client: Any, url: str) -> str:
        """The known path of a request; a missing prefix may be in the client's own address."""
        return self.ending(url) or self.ending(whole(client, url))


def chooser(adapters: Mapping[str, Adapter]) -> Callable[[Any, Args, Kwargs], Adapter | None]:
    """A function that finds a request's adapter by the end of its path; it returns ``None`` if the request does not
    call a model.
    """
    paths = Paths(adapters)

    def choose(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
        options = options_of(args, kwargs)
        adapter = adapters.get(paths.of(instance, options.url)) if options.method.lower() == "post" else None
        if adapter is not None:
            settle(options)
        return adapter

    return choose


def whole(client: Any, url: str) -> str:
    """The path as sent: appended to the client's own, unless it is an absolute address."""
    return url if "://" in url else f"{client._base_url.path}/{url}"
