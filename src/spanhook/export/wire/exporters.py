"""Has OpenTelemetry's OTLP exporters send what is encoded here.

All but the encoding stays the exporter's: retries, headers, TLS, compression, shutdown. An exporter's methods get
messages from a function of OpenTelemetry's encoder, a name of their module; the methods of one exporter get them from
another function. Nothing is replaced in classes or modules, so the application's own exporters stay as they are.
"""

from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from spanhook.diagnostics import internal

if TYPE_CHECKING:
    from spanhook.export.wire.encoders import Ours, Theirs

_HOME = "opentelemetry.exporter.otlp.proto.common."
_NAMES = {"traces": "encode_spans", "logs": "encode_logs", "metrics": "encode_metrics"}
_SERIALIZING = frozenset(("SerializeToString", "SerializePartialToString"))


class Serialized:
    """Stands for a message that an exporter only serializes; for anything else, the bytes are parsed."""

    __slots__ = ("_content", "_message")

    def __init__(self, message: Any, content: bytes) -> None:
        self._message, self._content = message, content

    def SerializeToString(self) -> bytes:  # noqa: N802
        return self._content

    SerializePartialToString = SerializeToString

    def __getattr__(self, name: str) -> Any:
        if name in ("_message", "_content"):  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._message.FromString(self._content), name)


def accelerate(signal: str, exporter: Any) -> Any:
    """Have an exporter send what is encoded here, if it is one of OpenTelemetry's for OTLP and both encoders agree.

    Args:
        signal: ``traces``, ``metrics`` or ``logs``.
        exporter: The exporter, which is changed.

    Returns:
        The same exporter.
    """
    try:
        # In an SDK whose classes have other names, the import fails; then the exporter is left as it is.
        from spanhook.export.wire.encoders import MAKERS
        from spanhook.export.wire.specimens import agreed

        name = _NAMES[signal]
        for method, theirs in list(_encoding(exporter, name)):
            ours = MAKERS[signal](theirs)
            message = agreed(signal, theirs, ours)
            if message is not None:
                whole = _SERIALIZING.isdisjoint(method.__code__.co_names)
                encode = _replacing(theirs, ours, message.FromString if whole else partial(Serialized, message))
                setattr(exporter, method.__name__, MethodType(_with(method, name, encode), exporter))
    except Exception as error:
        internal.report("export.wire", error)
    return exporter


def _encoding(exporter: Any, name: str) -> "Iterator[tuple[FunctionType, Theirs]]":
    """The exporter's methods that call OpenTelemetry's encoder, and the encoder."""
    methods = {key: one for cls in reversed(type(exporter).__mro__) for key, one in vars(cls).items()}
    for method in methods.values():
        if type(method) is FunctionType and name in method.__code__.co_names:
            theirs = method.__globals__.get(name)
            if type(theirs) is FunctionType and theirs.__module__.startswith(_HOME):
                yield method, theirs


def _replacing(theirs: "Theirs", ours: "Ours", parsed: Callable[[bytes], Any]) -> Callable[[Any], Any]:
    """What takes the place of ``theirs``; it gives a message, or what can be serialized like one."""

    def encode(data: Any) -> Any:
        try:
            return parsed(ours(data))
        except Exception:
            return theirs(data)

    return encode


def _with(function: FunctionType, name: str, value: Any) -> FunctionType:
    """The same function, but with another value for a name of its module."""
    within = {**function.__globals__, name: value}
    same = FunctionType(function.__code__, within, function.__name__, function.__defaults__, function.__closure__)
    same.__kwdefaults__ = function.__kwdefaults__
    return same
