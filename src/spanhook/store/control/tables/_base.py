"""What all tables have in common."""

from sqlalchemy import Boolean, Column, LargeBinary, MetaData, text

from spanhook.store.control.columns import Big, Json, SafeText

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "pk": "pk_%(table_name)s"},
)


def text_column(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, SafeText, primary_key=key, nullable=False, server_default=None if key else "")


def number(name: str, *, key: bool = False) -> Column[int]:
    given = None if key else text("0")
    return Column(name, Big, primary_key=key, nullable=False, server_default=given, autoincrement=False)


def counted(name: str = "id") -> Column[int]:
    """A key that grows with each row."""
    return Column(name, Big, primary_key=True, autoincrement=True)


def flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text("false"))


def json_column(name: str) -> Column[object]:
    return Column(name, Json, nullable=False, server_default="null")


def bytes_column(name: str, *, key: bool = False) -> Column[bytes]:
    return Column(name, LargeBinary, primary_key=key, nullable=False)
