"""Compares the lists with the types of the SDKs that are installed."""

import re
from collections.abc import Iterable
from importlib import import_module, metadata
from inspect import isfunction
from pathlib import Path
from typing import Any

from packaging.version import Version

from tests.request_fields.kinds import Api, Provider
from tests.request_fields.types import parameter_fields, shape_fields, text_fields

_BATCH = "requests.params."
_ROOT = Path(__file__).parents[2]


def is_newest(package: str) -> bool:
    """Whether the newest version is installed that the tests pass with. Older ones have other fields."""
    pins = (_ROOT / "constraints.txt", *sorted((_ROOT / ".ci/libraries").glob("*-newest.txt")))
    pinned = {
        found[1] for path in pins for found in re.finditer(rf"(?m)^{re.escape(package)}==(\S+)$", path.read_text())
    }
    try:
        return bool(pinned) and metadata.version(package) == max(pinned, key=Version)
    except metadata.PackageNotFoundError:
        return False


def fields_of(provider: Provider, api: Api) -> set[str]:
    """The fields of an API that can hold text; nothing is looked for inside of those that are listed."""
    listed = {*api.seen, *_unseen(provider)}

    def stop(path: str) -> bool:
        return path in listed

    module, _, name = api.types.partition(":")
    if module == "bedrock-runtime":
        session: Any = import_module("botocore.session").get_session()
        return shape_fields(session.get_service_model(module).operation_model(name).input_shape, stop)
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return parameter_fields(found, stop) if isfunction(found) else text_fields(found, stop)


def unlisted(provider: Provider, api: Api) -> list[str]:
    """Fields that can hold text and are neither seen nor known to be unseen."""
    listed = (*api.seen, *_unseen(provider))
    return sorted(path for path in fields_of(provider, api) if not _inside(path, listed))


def unneeded(provider: Provider) -> list[str]:
    """Fields that are listed, but that no API has."""
    found = {name: fields_of(provider, api) for name, api in provider.apis.items()}
    every = set[str]().union(*found.values())
    seen = {f"{name} {path}" for name, api in provider.apis.items() for path in api.seen if not _has(found[name], path)}
    paths = {path for several in provider.unseen.values() for path in several}
    return sorted(seen | {path for path in paths if not (_has(every, path) or _has(every, f"{_BATCH}{path}"))})


def in_arguments(provider: Provider, name: str) -> list[str]:
    """The fields that an API has in ``op.request.arguments``."""
    return [path for path, where in provider.apis[name].seen.items() if where == "arguments"]


def _unseen(provider: Provider) -> set[str]:
    paths = {path for several in provider.unseen.values() for path in several}
    return paths | {f"{_BATCH}{path}" for path in paths}


def _inside(path: str, listed: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}.") for one in listed)


def _has(fields: Iterable[str], path: str) -> bool:
    return any(one == path or one.startswith(f"{path}.") for one in fields)
