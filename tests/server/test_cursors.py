import base64

import pytest

from spanhook.server.cursors import cursor_of, position
from spanhook.server.problems import Problem


def test_a_cursor_is_where_the_next_page_begins() -> None:
    for number, text in ((0, ""), (2**63 - 1, "hook_é"), (5, "x" * 200)):
        assert position(cursor_of(number, text)) == (number, text)


JSON = (
    b"[-1, '']", b'[-1, ""]', b'[9223372036854775808, ""]', b'[1.5, ""]', b'[true, ""]', b"[1, 2]", b'{"a": 1}',
    b"[" * 9999, b"\xff",
)  # fmt: skip


@pytest.mark.parametrize("cursor", ["", "x", "é", "W10", *(base64.urlsafe_b64encode(one).decode() for one in JSON)])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(Problem) as refusal:
        position(cursor)
    assert refusal.value.code == "invalid"
