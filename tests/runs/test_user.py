"""Who a run is for, in whatever form a server tells of it."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from spanhook.runs import User
from spanhook.runs.user import user_of

ANN = User("ann", email="ann@example.com", permissions=["runs:create"], plan="pro")


class Modelled(BaseModel):
    """As Aegra has it."""

    model_config = ConfigDict(extra="allow")
    identity: str
    email: str
    permissions: list[str] = []
    display_name: str | None = None


@dataclass
class Plain:
    identity: str
    email: str
    plan: str
    permissions: tuple[str, ...]


class Properties:
    """As Starlette has it, where all is asked for."""

    identity = "ann"
    email = "ann@example.com"
    permissions = ("runs:create",)

    def __init__(self) -> None:
        self.plan = "pro"
        self._secret = "x"


FORMS: list[Any] = [
    {
        "identity": "ann",
        "email": "ann@example.com",
        "permissions": ["runs:create"],
        "plan": "pro",
        "display_name": None,
    },
    Modelled(identity="ann", email="ann@example.com", permissions=["runs:create"], plan="pro"),  # pyright: ignore[reportCallIssue]
    Plain("ann", "ann@example.com", "pro", ("runs:create",)),
    Properties(),
    ANN,
]


@pytest.mark.parametrize("given", FORMS, ids=lambda one: type(one).__name__)
def test_every_form_of_a_user(given: Any) -> None:
    assert user_of(given) == ANN


def test_fields_and_further_fields_are_attributes() -> None:
    assert (ANN.identity, ANN.email, ANN.permissions, ANN.plan) == ("ann", "ann@example.com", ("runs:create",), "pro")
    assert (ANN.display_name, ANN.org_id) == (None, None)
    assert dict(ANN.further) == {"plan": "pro"}
    with pytest.raises(AttributeError, match="the user 'ann' has no field 'age'; it has identity, display_name"):
        _ = ANN.age
    assert repr(ANN) == "User(identity='ann', email='ann@example.com', permissions=('runs:create',), plan='pro')"


def test_a_user_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="a User cannot be changed: plan='free'"):
        ANN.plan = "free"
    with pytest.raises(AttributeError, match="del plan"):
        del ANN.plan
    assert ANN.plan == "pro"


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_equal(twin: Callable[[Any], Any]) -> None:
    assert twin(ANN) == ANN
    assert hash(twin(ANN)) == hash(ANN)
    assert User("ann") != ANN


def test_an_id_alone_is_a_user() -> None:
    assert user_of("ann") == User("ann")


@pytest.mark.parametrize(
    "given", [3, object(), {}, {"identity": None, 5: 6, "no name": 1}, {"permissions": "all", "further": 1, "self": 2}]
)
def test_odd_users(given: Any) -> None:
    assert user_of(given).identity == ""


def test_names_that_a_user_has_already_are_not_taken_over() -> None:
    assert dict(user_of({"identity": 7, "further": 1, "permissions": "all"}).further) == {}
    assert user_of({"identity": 7, "permissions": "all"}).permissions == ("all",)
