"""Ids of users, tenants and sessions, in whatever form applications give them."""

from types import MappingProxyType, SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from spanhook.instrument.identities import as_id, field_of, first_id, ids_in

ID = UUID("12345678-1234-5678-1234-567812345678")


class Broken:
    """An object of an application whose fields cannot be read."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("ann", "ann"), ("", ""), (None, ""), (7, "7"), (0, ""), (True, ""), (ID, str(ID)), (1.5, ""), (["ann"], "")],
)
def test_what_is_an_id(value: Any, expected: str) -> None:
    assert as_id(value) == expected


@pytest.mark.parametrize("source", [{"user": {"id": 7}}, SimpleNamespace(user=MappingProxyType({"id": 7}))])
def test_fields_of_mappings_and_objects_nested_or_not(source: Any) -> None:
    assert field_of(source, "user.id") == 7
    assert field_of(source, "user.name.first") is None


def test_the_first_source_that_has_one_gives_it() -> None:
    sources = (None, Broken(), {"thread_id": "t-1"}, {"session_id": "s-1", "user_id": ID})
    assert ids_in(iter(sources)) == {"session_id": "t-1", "user_id": str(ID), "tenant_id": ""}
    assert first_id(sources, "tenant_id", "user_id") == str(ID)
