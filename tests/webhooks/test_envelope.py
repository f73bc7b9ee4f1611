import json

import pytest
from inline_snapshot import snapshot

from spanhook.webhooks import cloud_event, new_event_id


def test_an_event() -> None:
    text = cloud_event(
        "evt_1", "tool.execute.post", {"name": "é"}, source="/spanhook/shop", time_ns=1_700_000_000_123_456_789,
        subject="call_1", tenant="acme",
    )  # fmt: skip
    assert text.isascii()
    assert json.loads(text) == snapshot(
        {
            "specversion": "1.0",
            "id": "evt_1",
            "source": "/spanhook/shop",
            "type": "spanhook.tool.execute.post",
            "time": "2023-11-14T22:13:20.123456Z",
            "datacontenttype": "application/json",
            "subject": "call_1",
            "tenantid": "acme",
            "data": {"name": "é"},
        }
    )


def test_what_is_empty_is_left_out() -> None:
    assert {"subject", "tenantid"}.isdisjoint(json.loads(cloud_event("e", "t", None, source="/", time_ns=0)))


def test_what_is_no_json() -> None:
    for wrong in (float("nan"), object()):
        with pytest.raises((ValueError, TypeError)):
            cloud_event("e", "t", wrong, source="/", time_ns=0)


def test_ids_have_no_full_stop() -> None:
    assert "." not in new_event_id()
    assert new_event_id() != new_event_id()
