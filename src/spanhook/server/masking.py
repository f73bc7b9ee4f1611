"""Secrets in the settings of handlers: shown to nobody, and kept when a caller sends back what it was shown.

A setting is a secret if its name says so (``token``, ``password``, ``api_key``...), unless the name ends with ``_env``
and so names a variable; so are all values of ``headers``, and of a URL the user, the password and parameters with such
names.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from spanhook.errors import ConfigurationError

MASK = "**********"
_NAMES = re.compile(
    r"secret|token|passw|pwd|api[_-]?key|access[_-]?key|private[_-]?key|authorization|credential|cookie", re.IGNORECASE
)
_USER = re.compile(r"(?<=://)[^/?#\s]*@")
_PARAMETER = re.compile(r"([?&][^=&#\s]{0,100}=)([^&#\s]+)")


def masked(value: Any, *, secret: bool = False) -> Any:
    """Plain data without its secrets.

    Args:
        value: The data.
        secret: Whether all texts in it are secrets.
    """
    if isinstance(value, str):
        return MASK if secret and value else _of_url(value)
    if isinstance(value, Mapping):
        known = cast("Mapping[str, Any]", value)
        return {name: masked(one, secret=secret or _is_secret(name)) for name, one in known.items()}
    if isinstance(value, list | tuple):
        return [masked(one, secret=secret) for one in cast("list[Any]", value)]
    return value


def _of_url(text: str) -> str:
    def shown(found: re.Match[str]) -> str:
        return f"{found[1]}{MASK}" if _NAMES.search(found[1]) else found[0]

    return _PARAMETER.sub(shown, _USER.sub(f"{MASK}@", text)) if "://" in text else text


def unmasked(value: Any, before: Any) -> Any:
    """Plain data in which masks are replaced by what is at the same place in ``before``.

    Raises:
        ConfigurationError: There is nothing there, or it is no secret; or there is another address now, which whoever
            was not told the secrets could have them sent to.
    """
    found, shown = _unmasked(value, before, masked(before)), list(_texts(value))
    if any(MASK in one for one in shown):
        added = {one for one in shown if "://" in one}.difference(_texts(masked(before)))
        if added:
            raise ConfigurationError(f"config: with another address, give the secrets anew, not {MASK}")
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    inside: Any = cast("Any", value)
    for one in inside.values() if isinstance(value, Mapping) else inside if isinstance(value, list | tuple) else ():
        yield from _texts(one)


def _unmasked(value: Any, before: Any, shown: Any) -> Any:
    if isinstance(value, str) and MASK in value:
        if isinstance(before, str) and shown == value:
            return before
        raise ConfigurationError(f"config: {MASK} stands for a secret that is not there; give the secret itself")
    if isinstance(value, dict):
        old, seen = _mapping(before), _mapping(shown)
        known = cast("dict[str, Any]", value)
        return {name: _unmasked(one, old.get(name), seen.get(name)) for name, one in known.items()}
    if isinstance(value, list):
        old, seen = _list(before), _list(shown)
        given = cast("list[Any]", value)
        pairs = zip(given, _padded(old, len(given)), _padded(seen, len(given)), strict=True)
        return [_unmasked(one, was, showed) for one, was, showed in pairs]
    return value


def _padded(values: list[Any], length: int) -> list[Any]:
    return (values + [None] * length)[:length]


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else []


def _is_secret(name: str) -> bool:
    return name == "headers" or (not name.endswith("_env") and _NAMES.search(name) is not None)
