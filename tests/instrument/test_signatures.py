"""Arguments are read and replaced however they were passed."""

from spanhook.instrument.signatures import Signature

CALL = Signature("messages", "model")


def test_arguments_by_place_and_by_name() -> None:
    assert CALL.given(("hi",), {"model": "small"}, "messages") == "hi"
    assert CALL.given(("hi",), {"model": "small"}, "model") == "small"
    assert CALL.given(("hi",), {}, "model") is None
    assert CALL.given(("hi",), {"tools": []}, "tools") == []


def test_each_is_replaced_where_it_was_passed() -> None:
    args, kwargs = ("hi",), {"model": "small"}
    assert CALL.having(args, kwargs, messages="ho", model="large") == (("ho",), {"model": "large"})
    assert (args, kwargs) == (("hi",), {"model": "small"})
    assert CALL.having((), {}, messages="ho") == ((), {"messages": "ho"})
