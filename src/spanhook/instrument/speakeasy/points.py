"""The points of a generated SDK.

They wrap the methods that send a request, retries included, so bound methods, helpers and existing clients are gated
too; the path tells what a call is.
"""

from spanhook.model import Point


def points_of(
    module: str, adapter: str, choose: str, *, later: str = "BaseSDK", optional: bool = False
) -> tuple[Point, ...]:
    """The points of one package.

    Args:
        module: Its ``basesdk`` module.
        adapter: The location of the adapter for unrecognized calls.
        choose: The location of the function that picks a call's adapter.
        later: The class with the async method.
        optional: Missing in some supported versions.
    """
    return tuple(
        Point(
            module=module,
            name=name,
            adapter=adapter,
            choose=choose,
            mode=mode,
            overrides=True,
            optional=optional,
        )
        for name, mode in (("BaseSDK.do_request", "sync"), (f"{later}.do_request_async", "async"))
    )
