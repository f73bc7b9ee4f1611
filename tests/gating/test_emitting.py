"""Log events of hooks go where spanhook reports to."""

from spanhook.gating import emit_event
from spanhook.testing import recorder


def test_an_event_is_emitted_with_encodable_values() -> None:
    with recorder() as seen:
        assert emit_event("test.event", {"a": "\ud800"}, ["b"], warning=True)
    assert [(one["name"], one["attributes"], one["body"]) for one in seen.events] == [
        ("test.event", {"a": "\ufffd"}, ["b"])
    ]


def test_nothing_without_a_provider() -> None:
    assert not emit_event("test.event", {})
