"""The hooks of iterations of a configuration file."""

import os
from typing import TYPE_CHECKING

from spanhook.config.file import ConfigurationFile, read_file
from spanhook.config.locating import locate
from spanhook.config.reload import followed
from spanhook.errors import ConfigurationError
from spanhook.store import FrameMemory, MemoryFrames, SQLiteFrames, parse_address

if TYPE_CHECKING:
    from spanhook.iterations import IterationHooks

STORES = ("frames", "default")
"""The stores that may keep frames, the first one first."""


def iteration_hooks(path: str | None = None) -> "IterationHooks":
    """The hooks of an agent's iterations, with the settings and the store of a configuration file.

    Args:
        path: The file; by default the one that is in force, or else the one in the working directory. Without a file,
            frames are in memory and everything is enabled.

    Raises:
        ConfigurationError: The store cannot keep frames.
        ConfigurationFileError: The file has mistakes.
    """
    from spanhook.iterations import HookConfig, IterationHooks

    active = followed() if path is None else None
    found = path or locate(os.getcwd())
    if active is None and not found:
        return IterationHooks()
    file = active or read_file(found)
    entry = file.configuration.iterations
    config = HookConfig() if entry is None else HookConfig(**entry.model_dump(exclude_none=True))
    return IterationHooks(_frames(file), config)


def _frames(file: ConfigurationFile) -> FrameMemory:
    urls = file.store_urls
    name = next((one for one in STORES if one in urls), "")
    address = parse_address(urls.get(name, "memory://"))
    if address.scheme == "memory":
        return MemoryFrames()
    if address.scheme == "sqlite":
        return SQLiteFrames(address.path)
    raise ConfigurationError(
        f"{file.at(('stores', name))}: {address.shown} cannot keep frames of iterations; set stores.frames to "
        "sqlite:///FILE or memory://"
    )
