"""Functions and objects that instances hold: gated wherever they are called from, and what they were afterwards."""

import copy
import dataclasses
import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, semconv
from spanhook.instrument import INSTRUMENTORS, Instrumentor
from spanhook.instrument.declarations import Declaration
from spanhook.model import Adapter, Held
from spanhook.testing import recorder

ran: list[Any] = []


def work(amount: int) -> str:
    """Do work."""
    ran.append(amount)
    return f"did {amount}"


class Worker:
    """An object with two methods."""

    def one(self, amount: int) -> str:
        return work(amount)

    def other(self) -> str:
        return "other"


@dataclasses.dataclass
class Tool:
    call: Callable[..., Any]
    name: str = "tool"


@dataclasses.dataclass
class Holder:
    worker: Any
    name: str = "holder"


ADAPTER = Adapter(kind="tool.execute", start=lambda instance, _args, _kwargs: {semconv.GEN_AI_TOOL_NAME: instance.name})


def held(name: str, *methods: str) -> Held:
    return Held(module="acme_held", name=name, adapter=f"{__name__}:ADAPTER", methods=methods)


class AcmeInstrumentor(Instrumentor):
    library = "acme_held"
    table = (held("Tool.call"), held("Holder.worker", "one"))
    kinds = frozenset(("tool.execute",))


@pytest.fixture(autouse=True)
def acme(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("acme_held")
    module.__dict__.update(Tool=Tool, Holder=Holder)
    monkeypatch.setitem(sys.modules, "acme_held", module)
    made = f"{__name__}:AcmeInstrumentor"
    declared = Declaration("acme_held", instrumentor=made, requirement="pytest >= 1", extra="acme")
    monkeypatch.setitem(INSTRUMENTORS, "acme_held", declared)
    ran.clear()


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject(f"no {op.name}")

    return hooks


def test_of_instances_made_before_and_after() -> None:
    before = Tool(work)
    with recorder(refusing(), only=["acme_held"]):
        for tool in (before, Tool(work), copy.copy(before)):
            with pytest.raises(Reject):
                tool.call(1)
        late = Tool(work)
    assert ran == []
    assert before.call is work
    assert late.call is work
    assert late.call(2) == "did 2"


def test_what_is_held_can_be_compared_copied_and_kept() -> None:
    with recorder(only=["acme_held"]) as seen:
        tool = Tool(work)
        assert tool == Tool(work)
        assert dataclasses.replace(tool, name="other").call(1) == "did 1"
        assert copy.deepcopy(tool).call == work
        assert pickle.loads(pickle.dumps(tool.call)) is work
        assert tool.call.__doc__ == "Do work."
        assert tool.call is tool.call
        kept = tool.call
        assert kept(2) == "did 2"
    assert [op.name for op in seen.operations] == ["other", "tool"]
    assert kept(3) == "did 3"
    assert len(seen.operations) == 2


def test_of_objects_only_the_methods_named() -> None:
    with recorder(refusing(), only=["acme_held"]):
        holder = Holder(Worker())
        assert isinstance(holder.worker, Worker)
        assert holder.worker.other() == "other"
        with pytest.raises(Reject, match="no holder"):
            holder.worker.one(1)
    assert ran == []
    assert type(holder.worker) is Worker
    assert holder.worker.one(2) == "did 2"


def test_subclasses_that_define_it_themselves() -> None:
    class Method(Tool):
        def __init__(self) -> None:
            self.name = "method"

        def call(self, amount: int) -> str:  # type: ignore[override]
            return work(amount)

    with recorder(refusing(), only=["acme_held"]), pytest.raises(Reject, match="no method"):
        Method().call(1)
    assert ran == []
    assert Method().call(2) == "did 2"


def test_an_attribute_that_is_not_there_stays_away() -> None:
    tool = Tool.__new__(Tool)
    with recorder(only=["acme_held"]):
        assert not hasattr(tool, "call")
        tool.call = work
        del tool.call
        assert not hasattr(tool, "call")
