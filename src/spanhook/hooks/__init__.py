"""Ready-made hooks, one in each module, for code and for configuration files.

Each has its settings in a class ``Config`` and a short name in the entry-point group ``spanhook_hook``. They use
only the public interface for hooks, and know no libraries, spans or engine.
"""

from importlib.util import find_spec

if find_spec("pydantic") is None:
    raise ImportError('ready-made hooks need pydantic; pip install "spanhook[policies]"')
