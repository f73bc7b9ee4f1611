"""``python -m spanhook`` is the command ``spanhook``."""

from spanhook.cli import main

main()
