"""What a service has said."""

import dataclasses

import pytest

from spanhook.hooks.remote_policy import Verdict


def test_a_verdict_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Verdict("deny", "false").decision = "allow"  # pyright: ignore[reportAttributeAccessIssue]
