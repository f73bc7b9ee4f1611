"""The two points of a generated client.

They stand at the transport methods that every path ends in, so bound methods, raw-response wrappers, helpers and
clients made earlier are gated too; what a call is, is told by its path.
"""

from spanhook.model import Point


def transport(library: str, adapter: str, choose: str) -> tuple[Point, ...]:
    """The points of one package.

    Args:
        library: The name it is imported by.
        adapter: Where the adapter stands of what cannot be told apart.
        choose: Where the function stands that tells the adapter of a call.
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
