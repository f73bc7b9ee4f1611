"""What all entries of a library's table have in common."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TableEntry:
    """Something of a library that is wrapped.

    Attributes:
        module: The module that defines it.
        name: ``Class.method`` or a function's name.
        optional: Missing in some supported versions.
    """

    module: str
    name: str
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"
