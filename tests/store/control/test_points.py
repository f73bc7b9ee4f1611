"""Data points of metrics."""

import pytest
from sqlalchemy import select

from spanhook.store.control import Database, Ingestor, tables
from tests.store.control.otlp import PROTOBUF, START_NS, metrics

pytestmark = pytest.mark.anyio


async def test_points_are_kept_and_replace_themselves(database: Database, ingestor: Ingestor) -> None:
    for number in (1.5, 2.5):
        body = metrics([("a", number), ("b", float("nan"))]).SerializeToString()
        kept = await ingestor.take("metrics", body, content_type=PROTOBUF)
        assert kept.accepted == 3
    async with database.reading() as connection:
        rows = (await connection.execute(select(tables.metrics).order_by(tables.metrics.c.name))).mappings().all()
    assert [(row["name"], row["type"], row["value"]) for row in rows] == [
        ("a", "gauge", 2.5),
        ("b", "gauge", None),
        ("took", "histogram", {"count": 3, "sum": 1.5, "min": 0.25, "bounds": [1.0], "counts": [2, 1]}),
    ]
    assert (rows[0]["attributes"], rows[0]["time_ns"]) == ({"a": "b"}, START_NS)
