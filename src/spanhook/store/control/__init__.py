"""The database of the control plane: its tables, and what is written to and read from them.

It needs the extra ``server``; nothing that works without it imports this package. It knows no hooks and no HTTP.
"""

from spanhook.store.control import tables
from spanhook.store.control.columns import clean
from spanhook.store.control.database import Database

__all__ = ["Database", "clean", "tables"]
