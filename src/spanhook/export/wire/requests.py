"""What all three signals share: a request holds resources, each with its scopes, each with its items.

See ``opentelemetry/proto/collector/*/v1/*_service.proto``; the numbers of these fields are the same for all signals.
"""

from collections.abc import Callable, Iterable
from typing import Any

from spanhook.export.wire.values import attributes, delimited, text

Encode = Callable[[Any], bytes]
"""Gives an item's message."""


def request(ours: Encode, theirs: Encode, items: Iterable[Any]) -> bytes:
    """An export request.

    Args:
        ours: Encodes an item, or raises if it does not know something about it.
        theirs: Encodes any item.
        items: Spans or log records: what has a ``resource`` and an ``instrumentation_scope``.
    """
    groups: dict[Any, dict[Any, list[bytes]]] = {}  # equal resources are one
    found: dict[tuple[int, int], tuple[list[bytes], Any, Any]] = {}  # a resource's hash is expensive
    for item in items:
        resource, scope = item.resource, item.instrumentation_scope
        at = id(resource), id(scope)
        group = found.get(at)
        if group is None:
            messages = groups.setdefault(resource, {}).setdefault(scope, [])
            group = found[at] = (messages, resource, scope)  # kept, so that no other object gets its id
        try:
            message = ours(item)
        except Exception:
            message = theirs(item)
        group[0].append(message)
    return joined((resource, scopes.items()) for resource, scopes in groups.items())


def joined(groups: Iterable[tuple[Any, Iterable[tuple[Any, list[bytes]]]]]) -> bytes:
    """An export request from resources, their scopes, and the messages of their items."""
    resources: list[bytes] = []
    for resource, scopes in groups:
        parts = [b"\x0a", delimited(attributes(b"\x0a", resource.attributes))]
        for scope, items in scopes:
            parts += b"\x12", delimited(_scope_items(scope, items))
        parts += _schema(resource.schema_url)
        resources.append(delimited(b"".join(parts)))
    return b"\x0a".join([b"", *resources])


def _scope_items(scope: Any, items: list[bytes]) -> bytes:
    if scope is None:
        described, schema = b"", []
    else:
        described = b"\x0a" + text(scope.name)
        if scope.version:
            described += b"\x12" + text(scope.version)
        described += attributes(b"\x1a", scope.attributes)
        schema = _schema(scope.schema_url)
    messages = b"\x12".join([b"", *map(delimited, items)])
    return b"".join([b"\x0a", delimited(described), messages, *schema])


def _schema(url: str | None) -> list[bytes]:
    return [b"\x1a", text(url)] if url else []
