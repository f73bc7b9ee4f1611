"""What hooks renew in forked children."""

import gc
import os

import pytest

from spanhook.gating import renewed_after_fork


class Renewing:
    def __init__(self) -> None:
        self.times = 0

    def renew(self) -> None:
        self.times += 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # threads of other tests
def test_it_is_renewed_in_the_child_alone() -> None:
    one = Renewing()
    renewed_after_fork(one)
    child = os.fork()
    if not child:
        os._exit(one.times)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert one.times == 0


def test_nothing_is_kept_alive_for_it() -> None:
    renewed_after_fork(Renewing())
    gc.collect()
    assert not [one for one in gc.get_objects() if issubclass(type(one), Renewing)]
