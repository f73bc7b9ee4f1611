"""What is current in a block, and after it."""

import pytest
from opentelemetry.context import Context

from spanhook.engine._elsewhere import Elsewhere
from spanhook.model import NOBODY, Identity, ambient, current
from spanhook.telemetry import get_context, set_context
from spanhook.testing import recorder


def now() -> tuple[object, Context, Identity]:
    return current.get(), get_context(), ambient.get()


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_what_was_current_comes_back_whatever_the_block_has_done(error: type[BaseException] | None) -> None:
    with recorder():
        before = now()
        there = Context({"there": 1}), NOBODY._replace(tenant_id="acme")
        raised = None
        try:
            with Elsewhere(None, *there):
                assert now() == (None, *there)
                set_context(Context({"left": 1}))
                ambient.set(NOBODY._replace(tenant_id="left"))
                if error is not None:
                    raise error
        except BaseException as caught:
            raised = type(caught)
        assert raised is error
        assert now() == before
