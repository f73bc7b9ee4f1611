"""Loading, validating and wiring: what the application asks for, in code or in a file, is put in force here."""

from spanhook.config.instrumenting import check_installed, instrument, load_hooks, require_bound, uninstrument

__all__ = ["check_installed", "instrument", "load_hooks", "require_bound", "uninstrument"]
