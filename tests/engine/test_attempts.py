"""Who raises the rejection of one of several attempts."""

from typing import Any

import pytest

from spanhook import Reject
from spanhook.engine import aattempt, attempt
from spanhook.errors import AttemptStopped
from tests.stub import stubbed, use


def _stop() -> Any:
    raise AttemptStopped(Reject("no"))


async def _astop() -> Any:
    raise AttemptStopped(Reject("no"))


@pytest.mark.parametrize(
    ("layer", "raised"), [("stub", AttemptStopped), ("another", Reject)], ids=["its own", "another"]
)
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.every_combination
def test_the_operation_of_the_same_library_around_attempts_raises_it(
    mode: str, layer: str, raised: type[BaseException]
) -> None:
    """So the library, which would catch it, does not try again."""

    def attempts() -> str:
        with pytest.raises(raised):
            attempt(layer, _stop, (), {})
        return "tried"

    async def aattempts() -> str:
        with pytest.raises(raised):
            await aattempt(layer, _astop, (), {})
        return "tried"

    with stubbed() as (library, _):
        assert use(library, mode, attempts if mode == "sync" else aattempts) == "tried"


def test_attempts_inside_of_no_operation_raise_it() -> None:
    with pytest.raises(Reject, match="no"):
        attempt("stub", _stop, (), {})
