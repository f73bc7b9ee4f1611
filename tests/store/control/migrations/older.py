"""Databases as earlier versions have left them."""

import json
from typing import Any

from sqlalchemy import column as named
from sqlalchemy import create_engine, insert, make_url, table

from spanhook.store.control.migrating import migrate

Rows = dict[str, list[dict[str, Any]]]


def fill(url: str, revision: str, rows: Rows) -> None:
    """Give an empty database the tables of a migration, and rows by table. Lists and mappings are stored as JSON."""
    address = make_url(url)
    engine = create_engine(address.set(drivername="postgresql+psycopg") if "postgresql" in url else address)
    with engine.begin() as connection:
        migrate(connection, revision)
        for name, several in rows.items():
            for row in several:
                stored = {key: json.dumps(one) if isinstance(one, dict | list) else one for key, one in row.items()}
                connection.execute(insert(table(name, *map(named, row))).values(stored))
    engine.dispose()
