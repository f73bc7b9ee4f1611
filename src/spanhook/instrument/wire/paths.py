"""Identifies endpoints by path, in every form that clients write and servers accept."""

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote


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
