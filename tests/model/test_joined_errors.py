"""Exceptions that are at once a rejection and an exception of a library's own."""

import copy
import pickle

import pytest

from spanhook import Reject
from spanhook.model import joined


class TheirsError(Exception):
    """A library's own."""

    def __init__(self, message: str, component: str) -> None:
        super().__init__(message)
        self.component = component


def test_it_is_both_and_says_what_the_rejection_says() -> None:
    error = joined(Reject("not today", status_code=402), TheirsError("it has failed", "model"))
    assert isinstance(error, TheirsError)
    assert (str(error), error.status_code, error.component) == ("not today", 402, "model")
    assert type(error).__name__ == "Reject"


def test_joined_again_it_keeps_what_it_had_first() -> None:
    first = joined(Reject("not today"), TheirsError("it has failed", "model"))
    second = joined(first, TheirsError("it has failed, too", "agent"))
    assert type(second) is type(first)
    assert getattr(second, "component", "") == "model"


@pytest.mark.parametrize("copies", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_it_can_be_copied(copies: object) -> None:
    assert callable(copies)
    error = joined(Reject("not today"), TheirsError("it has failed", "model"))
    twin = copies(error)
    assert isinstance(twin, TheirsError)
    assert (str(twin), type(twin)) == ("not today", type(error))
