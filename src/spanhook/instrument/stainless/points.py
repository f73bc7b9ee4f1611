"""The two points of a generated client.

They wrap the transport methods that every call ends in, so bound methods, raw-response wrappers, helpers and existing
clients are gated too; the path tells what a call is.
"""

from spanhook.model import Point


def points_of(library: str, adapter: str, choose: str) -> tuple[Point, ...]:
    """The points of one package.

    Args:
        library: Its import name.
        adapter: The location of the adapter for unrecognized calls.
        choose: The location of the function that picks a call's adapter.
    """
    return tuple(
        Point(
            module=f"{library}._base_client",
            name=f"{client}.request",
            adapter=adapter,
            choose=choose,
            mode=mode,
            overrides=True,
        )
        for client, mode in (("SyncAPIClient", "sync"), ("AsyncAPIClient", "async"))
    )
