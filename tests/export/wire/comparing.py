"""Both encoders on the same data."""

from collections.abc import Callable
from typing import Any

from spanhook.export.wire.encoders import Ours, Theirs


def same(theirs: Theirs, ours: Ours, data: Any) -> None:
    """Both give the same message, or raise the same error.

    Messages are compared as they serialize: in a message, NaN is not equal to itself.
    """
    expected = _outcome(lambda: theirs(data))
    if isinstance(expected, Exception):
        assert repr(_outcome(lambda: ours(data))) == repr(expected)
        return
    assert type(expected).FromString(ours(data)).SerializeToString() == expected.SerializeToString()


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


def never(data: Any) -> Any:
    """Stands for OpenTelemetry's encoder where it is not needed."""
    raise AssertionError(data)
