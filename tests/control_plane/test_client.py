from collections.abc import Iterator

import pytest

from spanhook.control_plane.client import Answer, Client, Unreachable
from spanhook.control_plane.sets import LARGEST
from tests.control_plane.answering import Answering, answering
from tests.ports import free_port


@pytest.fixture
def server() -> Iterator[Answering]:
    with answering() as one:
        yield one


def test_what_is_known_is_not_sent_again(server: Answering) -> None:
    server.sends(b"a set", '"7"')
    client = Client(server.url + "/", None)
    assert client.fetch("") == Answer(b"a set", '"7"')
    assert client.fetch('"7"') == Answer(None, '"7"')
    assert [path for _, path, _ in server.asked] == ["/v1/sync"] * 2


def test_the_key_is_read_for_each_request(server: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    server.sends(b"a set")
    client = Client(server.url, "ACME_KEY")
    for key in ("shk_one", "shk_two"):
        monkeypatch.setenv("ACME_KEY", key)
        client.fetch("")
        client.report({})
    sent = [headers["Authorization"] for _, _, headers in server.asked]
    assert sent == ["Bearer shk_one"] * 2 + ["Bearer shk_two"] * 2


@pytest.mark.parametrize("status", [302, 401, 403, 404, 429, 500, 503])
def test_other_answers_are_failures(server: Answering, status: int) -> None:
    server.status, server.content = status, b'{"detail": "the reason\\nfor it"}'
    server.headers = {"Retry-After": "7", "Location": "http://127.0.0.1:1/"}
    with pytest.raises(Unreachable, match=f"has answered {status}: the reason for it") as caught:
        Client(server.url, None).fetch("")
    assert (caught.value.kind, caught.value.retry_after) == (str(status), 7.0)


def test_nothing_new_is_no_answer_to_who_knows_nothing(server: Answering) -> None:
    server.status = 304
    with pytest.raises(Unreachable, match="304"):
        Client(server.url, None).fetch("")


def test_an_answer_without_end_is_not_read_to_it(server: Answering) -> None:
    server.sends(b"x" * (LARGEST + 1))
    client = Client(server.url, None)
    with pytest.raises(Unreachable, match="more than"):
        client.fetch("")
    server.sends(b"a set")
    assert client.fetch("").content == b"a set"


def test_a_server_that_is_away_is_a_failure() -> None:
    with pytest.raises(Unreachable, match="does not answer") as caught:
        Client(f"http://127.0.0.1:{free_port()}", None).fetch("")
    assert caught.value.kind == "connection"
    assert " at 0x" not in str(caught.value)  # what is said again is recognized by its text
