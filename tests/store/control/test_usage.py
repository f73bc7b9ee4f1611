"""Usage, grouped and filtered."""

import pytest

from spanhook.store.control import Database, Ingestor, usage_by
from tests.store.control.otlp import DAY, run_of, send_spans

pytestmark = pytest.mark.anyio


async def test_groups_and_filters(database: Database, ingestor: Ingestor) -> None:
    await send_spans(ingestor, run_of(1))
    await send_spans(ingestor, run_of(2), tenant="globex")
    by_model = await usage_by(database, None, ("model",))
    assert [(row.by, row.used.calls, row.cost_usd) for row in by_model] == [
        ({"model": "priced"}, 2, 0.5),
        ({"model": "unpriced"}, 2, 0.0),
    ]
    [mine] = await usage_by(database, "globex", ("day", "tenant_id"))
    assert (mine.by, mine.used.input_tokens) == ({"day": DAY, "tenant_id": "globex"}, 200)
    assert [row.used.calls for row in await usage_by(database, None, (), model="priced")] == [2]
    assert len(await usage_by(database, None, ("tenant_id",), limit=1)) == 1
    assert not await usage_by(database, "nobody", ("model",))
    assert not await usage_by(database, None, ("day",), since_day=DAY + 1)
    assert not await usage_by(database, None, ("day",), until_day=DAY)
    [nothing] = await usage_by(database, "nobody", ())
    assert nothing.used.calls == 0


async def test_other_names_are_refused(database: Database) -> None:
    with pytest.raises(ValueError, match="expected some of"):
        await usage_by(database, None, ("secret",))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="expected some of"):
        await usage_by(database, None, (), secret="x")
