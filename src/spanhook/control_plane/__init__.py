"""What processes of agents enforce as a control plane says: its sets of hooks, and following them.

It needs ``pip install "spanhook[control-plane]"``. Nothing of it runs without
``control_plane`` in a configuration file.
"""

from importlib.util import find_spec

from spanhook.errors import ConfigurationError

if find_spec("urllib3") is None:
    raise ConfigurationError(
        'control_plane needs urllib3, which is not installed; pip install "spanhook[control-plane]"'
    )

from spanhook.control_plane.following import Following
from spanhook.control_plane.joining import join, problems
from spanhook.control_plane.sets import FORMAT, HookSet, SetError, SigningKey, opened, sealed

__all__ = ["FORMAT", "Following", "HookSet", "SetError", "SigningKey", "join", "opened", "problems", "sealed"]
