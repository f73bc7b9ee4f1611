"""The schedules of a configuration file, for the application's own event loop.

Optional packages are imported only when there are some.
"""

import os
from typing import TYPE_CHECKING, Any

from spanhook.config.file import ConfigurationFile, read_file
from spanhook.config.locating import locate
from spanhook.config.reload import followed
from spanhook.errors import ConfigurationError
from spanhook.gating import load_object
from spanhook.store import open_states

if TYPE_CHECKING:
    from spanhook.schedules import Scheduler

STORES = ("schedules", "default")
"""The stores that may keep what is known of schedules, the first one first."""


def scheduler(path: str | None = None) -> "Scheduler":
    """The schedules under ``cron`` in a configuration file, to be run on this event loop.

    ```python
    async with spanhook.scheduler():
        await serve()
    ```

    Args:
        path: The file; by default the one that is in force, or else the one in the working directory.

    Raises:
        ConfigurationError: There is no file, it has no ``cron``, an agent is not async or cannot be imported, or the
            store cannot keep schedules.
        ConfigurationFileError: The file has mistakes.
    """
    file = _file(path)
    from spanhook.schedules import Scheduler, calling

    given = file.configuration.cron
    if not given:
        raise ConfigurationError(f"{file.shown} has no schedules; add them under cron")
    specs = {one.agent: file.document.spec(one.agent) for one in given}
    agents = {spec: _loaded(file, spec, found) for spec, found in specs.items()}
    names = {spec: spec.rpartition(":")[2] for spec in specs}
    entries = [one.model_copy(update={"agent": names[one.agent]}) for one in given]
    taken = dict[str, str]()
    for spec, name in names.items():
        if taken.setdefault(name, spec) != spec:
            raise ConfigurationError(
                f"{file.at(('cron',))}: {taken[name]!r} and {spec!r} are agents of the same name; rename one"
            )
    urls = file.store_urls
    url = next((urls[name] for name in STORES if name in urls), "memory://")
    try:
        states = open_states(url)
    except ConfigurationError as error:
        raise ConfigurationError(f"{file.at(('cron',))}: {error}; set stores.schedules") from error
    return Scheduler(entries, calling({names[spec]: agent for spec, agent in agents.items()}), states)


def _file(path: str | None) -> ConfigurationFile:
    active = followed()
    if path is None and active is not None:
        return active
    found = path or locate(os.getcwd())
    if not found:
        raise ConfigurationError("there is no configuration file here; write spanhook.yaml, or name one")
    return read_file(found)


def _loaded(file: ConfigurationFile, spec: str, found: str) -> Any:
    try:
        return load_object(found)
    except ConfigurationError as error:
        index = [one.agent for one in file.configuration.cron].index(spec)
        where = file.at(("cron", index, "agent"))
        raise ConfigurationError(f"{where}: {str(error).removeprefix('hooks ')}") from error
