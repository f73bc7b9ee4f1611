"""Lets Aegra start only if the hooks that its configuration names are active.

``spanhook run`` loads them before the application; they are not active if the application names another file later, or
instruments itself without them.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from spanhook.errors import ConfigurationError
from spanhook.model import Args, Kwargs, Opening, asheds


@asheds
async def initialize(
    opening: Opening, wrapped: Callable[..., Awaitable[None]], instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of what reads Aegra's configuration as it starts."""
    await wrapped(*args, **kwargs)
    _check(opening, instance.config or {}, os.fspath(instance.config_path))


def _check(opening: Opening, config: Mapping[str, Any], file: str) -> None:
    section = config.get("hooks")
    if section is None:
        return
    path = os.path.abspath(file)
    spec = section.get("path") if isinstance(section, Mapping) else section
    if not isinstance(spec, str) or not opening.runs.in_force(spec, os.path.dirname(path)):
        raise ConfigurationError(
            f"{path} names hooks that are not active: {spec!r}; start the server with spanhook run, in an environment "
            f"in which AEGRA_CONFIG names this file, or call spanhook.instrument(spanhook.runs.from_aegra({path!r})) "
            "before the server starts"
        )
