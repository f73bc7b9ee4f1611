"""Ready-made hooks, one in each module, for code and for configuration files.

Each has its settings in a class ``Config`` and a short name in the entry-point group ``spanhook_hook``. They know what
authors of hooks know, and nothing of libraries, spans or the engine.
"""

try:
    import pydantic  # noqa: F401
except ImportError as error:
    raise ImportError('ready-made hooks need pydantic; pip install "spanhook[policies]"') from error
