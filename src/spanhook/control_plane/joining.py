"""Has the process follow the control plane that its configuration file names."""

import atexit
import os
from collections.abc import Iterator
from importlib.util import find_spec

from spanhook.config import ConfigurationFile, Follower
from spanhook.control_plane.applying import Applier
from spanhook.control_plane.cache import Cache
from spanhook.control_plane.client import Client, Unreachable
from spanhook.control_plane.following import Following, Server
from spanhook.errors import ConfigurationError
from spanhook.fork import after_fork

_joined: list[Following] = []


def join(file: ConfigurationFile, follower: Follower) -> Following | None:
    """Follow the control plane that a file names, in this process and in those that it forks.

    Once this returns, the last known set is in force, or what ``fail_mode`` says.

    Args:
        file: The file as it is active.
        follower: What follows this file.

    Returns:
        What follows the control plane; ``None`` if the file names none.

    Raises:
        ConfigurationError: A package is not installed, or the variable with the API key is not set.
    """
    entry = file.configuration.control_plane
    if entry is None:
        return None
    if entry.public_key is not None and find_spec("cryptography") is None:
        raise ConfigurationError(
            'control_plane.public_key needs cryptography, which is not installed; pip install "spanhook[control-plane]"'
        )
    if entry.api_key_env is not None and not os.environ.get(entry.api_key_env, "").strip():
        raise ConfigurationError(
            f"the environment variable {entry.api_key_env} is not set; by control_plane.api_key_env, it has the API key"
        )
    server = Server(entry.url, entry.api_key_env, entry.fail_mode, entry.public_key, entry.tenant)
    following = Following(server, Cache(file.document.absolute(entry.cache)), Applier(follower))
    for before in _joined:
        before.stop()
    _joined[:] = [following]
    following.start()
    return following


def problems(file: ConfigurationFile) -> Iterator[tuple[str, str]]:
    """What processes report that follow the control plane of this file: which one, and what.

    Raises:
        ConfigurationError: The control plane does not say.
    """
    entry = file.configuration.control_plane
    if entry is None:
        return
    try:
        processes = Client(entry.url, entry.api_key_env).processes()
    except Unreachable as error:
        raise ConfigurationError(f"{entry.url} does not say what processes report: it {error}") from None
    for one in processes:
        where = f"{one.get('service') or 'unnamed'} ({one.get('host')}, process {one.get('pid')})"
        for problem in one.get("problems") or ():
            yield where, f"{problem.get('subject')}: {problem.get('message')}"


def _renew() -> None:
    for following in _joined:
        following.renew()


def _finish() -> None:
    for following in _joined:
        following.finish()


after_fork("control plane", _renew)
atexit.register(_finish)
