"""Memory stores: every write is gated once, whichever stores and tasks it passes through."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, GetOp, Op, PutOp, Result
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langgraph import State
from spanhook.testing import Recorder, recorder

VALUE: Any = {"text": "likes tea"}


class Batched(AsyncBatchedBaseStore):
    """A store that batches what it hands on to another, as the stores of LangGraph's servers do."""

    def __init__(self, inner: BaseStore) -> None:
        super().__init__()
        self.inner = inner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.inner.abatch(ops)


class Threaded(Batched):
    """Hands on in a thread of its own; nodes that write wait in all others."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        run: Any = copy_context().run
        with ThreadPoolExecutor(1) as thread:
            return await asyncio.get_running_loop().run_in_executor(thread, run, self.inner.batch, ops)


class Itself(AsyncBatchedBaseStore):
    """Keeps what it is given, as those for PostgreSQL and Redis do."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = InMemoryStore()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return [None for _ in ops]


class Proxy(BaseStore):
    """A store that passes everything on by the methods that were called."""

    def __init__(self, inner: BaseStore) -> None:
        self.inner = inner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.inner.abatch(ops)

    def put(self, namespace: Any, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        self.inner.put(namespace, key, {**value, "sealed": True}, *args, **kwargs)

    async def aput(self, namespace: Any, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        await self.inner.aput(namespace, key, {**value, "sealed": True}, *args, **kwargs)


STORES: dict[str, Callable[[], BaseStore]] = {
    "plain": InMemoryStore,
    "batched": lambda: Batched(InMemoryStore()),
    "batched twice": lambda: Batched(Batched(InMemoryStore())),
    "threaded": lambda: Threaded(InMemoryStore()),
    "batched itself": Itself,
    "proxy": lambda: Proxy(InMemoryStore()),
    "proxy of batched": lambda: Proxy(Batched(InMemoryStore())),
    "batched proxy": lambda: Batched(Proxy(InMemoryStore())),
}
#: Sync methods are called in a thread, as LangGraph runs sync nodes; a batching store refuses them on its loop.
WRITES: dict[str, Callable[[BaseStore], Awaitable[Any]]] = {
    "aput": lambda store: store.aput(("notes",), "k", VALUE),
    "put": lambda store: asyncio.to_thread(store.put, ("notes",), "k", VALUE),
    "adelete": lambda store: store.adelete(("notes",), "k"),
    "delete": lambda store: asyncio.to_thread(store.delete, ("notes",), "k"),
    "abatch": lambda store: store.abatch([PutOp(("notes",), "k", VALUE)]),
    "batch": lambda store: asyncio.to_thread(store.batch, [PutOp(("notes",), "k", VALUE)]),
    "abatch of an iterator": lambda store: store.abatch(iter([PutOp(("notes",), "k", VALUE)])),
}


def known_users_only() -> Hooks:
    hooks = Hooks()

    @hooks.before("memory.store", "embeddings.create")
    def gate(op: Operation) -> None:
        if not op.identity.user_id:
            raise Reject("whose is this?")

    return hooks


def written(seen: Recorder) -> list[tuple[str, str, str]]:
    return [(op.name, op.status, op.identity.user_id) for op in seen.operations if op.kind == "memory.store"]


@pytest.mark.every_combination
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("write", WRITES)
def test_every_write_is_gated_once_and_for_its_user(store: str, write: str) -> None:
    async def use() -> None:
        made = STORES[store]()
        with spanhook.context(user_id="ann"):
            await WRITES[write](made)

    with recorder(known_users_only()) as seen:
        asyncio.run(use())
        gc.collect()
    name = "" if write == "abatch of an iterator" else "notes"
    assert written(seen) == [(name, "success", "ann")]


@pytest.mark.every_value
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("write", WRITES)
def test_a_refused_write_reaches_no_store(store: str, write: str) -> None:
    hooks = Hooks()

    @hooks.before("memory.store")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    async def use() -> None:
        made: Any = STORES[store]()
        with pytest.raises(Reject, match="no"):
            await WRITES[write](made)
        inner = made
        while hasattr(inner, "inner"):
            inner = inner.inner
        assert inner.search(("notes",)) == []

    with recorder(hooks) as seen:
        asyncio.run(use())
        gc.collect()
    assert [status for _, status, _ in written(seen)] == ["rejected"]


def remembering(store: BaseStore) -> Any:
    """A graph with a sync and an async node that write to its store."""

    def node(state: State) -> State:
        get_store().put(("notes", state.get("value", "")), "sync", VALUE)
        return {}

    async def anode(state: State) -> State:
        await get_store().aput(("notes", state.get("value", "")), "async", VALUE)
        return {}

    builder: Any = StateGraph(State)
    builder.add_node("first", node)
    builder.add_node("second", anode)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    return builder.compile(store=store, name="remembering")


@pytest.mark.parametrize("store", STORES)
def test_runs_of_several_users_at_once(store: str) -> None:
    """Their writes are batched together; each is its own run's and user's."""
    users = [f"user {number}" for number in range(8)]

    async def use() -> None:
        graph = remembering(STORES[store]())
        await asyncio.gather(*(graph.ainvoke({"value": user}, {"configurable": {"user_id": user}}) for user in users))

    with recorder(known_users_only()) as seen:
        asyncio.run(use())
        gc.collect()
    assert sorted(written(seen)) == sorted((f"notes/{user}", "success", user) for user in users for _ in range(2))
    assert all(op.root.name == "remembering" for op in seen.operations)
    assert len([event for event in seen.events if event["name"] == "spanhook.run"]) == len(users)


class Meaning(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


def with_embeddings() -> BaseStore:
    return Batched(InMemoryStore(index={"dims": 2, "embed": Meaning(), "fields": ["text"]}))


def test_what_a_store_embeds_is_done_for_the_run_that_writes_or_searches() -> None:
    async def node(state: State) -> State:
        await get_store().aput(("notes",), "k", VALUE)
        found = await get_store().asearch(("notes",), query="what does she drink?")
        return {"value": found[0].value["text"]}

    builder: Any = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")

    async def use() -> Any:
        store = with_embeddings()
        return await builder.compile(store=store, name="g").ainvoke({}, {"configurable": {"user_id": "ann"}})

    with recorder(known_users_only()) as seen:
        assert asyncio.run(use()) == {"value": "likes tea"}
        gc.collect()
    assert [(op.kind, op.status, op.identity.user_id, op.parent and op.parent.kind) for op in seen.operations] == [
        ("embeddings.create", "success", "ann", "memory.store"),
        ("memory.store", "success", "ann", "agent.invoke"),
        ("embeddings.create", "success", "ann", "agent.invoke"),
        ("agent.invoke", "success", "ann", None),
    ]


def test_a_hook_that_searches_does_not_come_upon_itself() -> None:
    hooks = Hooks()
    ran: list[str] = []

    async def use() -> None:
        store = with_embeddings()

        @hooks.before("embeddings.create")
        async def look(op: Operation) -> None:
            ran.append(op.kind)
            await store.asearch(("rules",), query="what is allowed?")

        await Meaning().aembed_query("hello")

    with recorder(hooks) as seen:
        asyncio.run(use())
        gc.collect()
    assert ran == ["embeddings.create"]
    assert [op.in_hook for op in seen.operations] == [True, False]


@pytest.mark.parametrize("where", ["run", "hook"])
def test_a_store_that_was_made_inside_of_something_serves_others_all_the_same(where: str) -> None:
    """Its task was started for another user, in a run that is rejected; or in a hook, where hooks are off."""
    hooks = known_users_only()
    stores: list[BaseStore] = []

    @hooks.before("agent.invoke", names={"first"})
    def make_in_hook(op: Operation) -> None:
        if where == "hook":
            stores.append(with_embeddings())

    @hooks.before("workflow.step", names={"last"})
    def refuse(op: Operation) -> None:
        raise Reject("no", scope="run")

    async def make(state: State) -> State:
        stores.append(with_embeddings())
        return {}

    async def work(state: State) -> State:
        await asyncio.wait_for(stores[0].aput(("notes",), "k", VALUE), 60)
        found = await asyncio.wait_for(stores[0].asearch(("notes",), query="tea"), 60)
        return {"value": found[0].value["text"]}

    first: Any = StateGraph(State)
    first.add_node("make", make)
    first.add_node("last", lambda state: {})
    first.add_edge(START, "make")
    first.add_edge("make", "last")
    second: Any = StateGraph(State)
    second.add_node("work", work)
    second.add_edge(START, "work")

    async def use() -> Any:
        with spanhook.context(user_id="bob"), pytest.raises(Reject, match="no"):
            await first.compile(name="first").ainvoke({})
        return await second.compile(name="second").ainvoke({}, {"configurable": {"user_id": "ann"}})

    with recorder(hooks) as seen:
        assert asyncio.run(use()) == {"value": "likes tea"}
        stores.clear()
        gc.collect()
    assert written(seen) == [("notes", "success", "ann")]
    embedded = [op for op in seen.operations if op.kind == "embeddings.create"]
    assert [(op.status, op.in_hook, op.identity.user_id) for op in embedded] == [("success", False, "ann")] * 2


def test_a_run_that_ends_in_a_stores_task_does_not_end_the_task() -> None:
    hooks = Hooks()

    @hooks.before("embeddings.create")
    def refuse(op: Operation) -> None:
        if op.identity.user_id == "bob":
            raise Reject("no more", scope="run")

    async def node(state: State) -> State:
        with suppress(Exception):
            await get_store().aput(("notes",), state.get("value", ""), VALUE)
        return {}

    builder: Any = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")

    async def use() -> None:
        graph = builder.compile(store=with_embeddings(), name="g")
        with pytest.raises(Reject, match="no more"):
            await asyncio.wait_for(graph.ainvoke({"value": "b"}, {"configurable": {"user_id": "bob"}}), 60)
        await asyncio.wait_for(graph.ainvoke({"value": "a"}, {"configurable": {"user_id": "ann"}}), 60)

    with recorder(hooks) as seen:
        asyncio.run(use())
        gc.collect()
    assert [status for _, status, _ in written(seen)] == ["rejected", "success"]


class Auditing(InMemoryStore):
    """A store that writes what it was not asked to."""

    def put(self, namespace: Any, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        super().put(namespace, key, value, *args, **kwargs)
        if namespace != ("audit",):
            self.put(("audit",), key, {"written": True})

    async def aput(self, namespace: Any, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        await super().aput(namespace, key, value, *args, **kwargs)
        if namespace != ("audit",):
            await self.abatch([PutOp(("audit",), key, {"written": True}), GetOp(namespace, key)])


@pytest.mark.parametrize("write", ["put", "aput"])
def test_what_a_store_writes_besides_is_a_write_of_its_own(write: str) -> None:
    hooks = Hooks()

    @hooks.before("memory.store", names={"audit"})
    def refuse(op: Operation) -> None:
        raise Reject("not there")

    store = Auditing()

    async def use() -> None:
        with pytest.raises(Reject, match="not there"):
            await WRITES[write](store)

    with recorder(hooks) as seen:
        asyncio.run(use())
    assert [(name, status) for name, status, _ in written(seen)] == [("audit", "rejected"), ("notes", "rejected")]
    assert store.search(("audit",)) == []


def test_sync_writes_on_a_batching_stores_own_loop_fail_as_they_do() -> None:
    async def use() -> None:
        with pytest.raises(asyncio.InvalidStateError):
            Itself().put(("notes",), "k", VALUE)

    with recorder() as seen:
        asyncio.run(use())
        gc.collect()
    assert written(seen) == [("notes", "error", "")]


@pytest.mark.parametrize("store", ["plain", "batched"])
def test_a_rewrite_keeps_how_long_and_how_to_find_it(store: str) -> None:
    class Keeping(InMemoryStore):
        supports_ttl = True
        ops: list[PutOp] = []

        def batch(self, ops: Iterable[Op]) -> list[Result]:
            ops = list(ops)
            self.ops += [op for op in ops if isinstance(op, PutOp)]
            return super().batch(ops)

        async def abatch(self, ops: Iterable[Op]) -> list[Result]:
            ops = list(ops)
            self.ops += [op for op in ops if isinstance(op, PutOp)]
            return await super().abatch(ops)

    class Ttl(Batched):
        supports_ttl = True

    hooks = Hooks()

    @hooks.before("memory.store")
    def scrub(op: Operation) -> None:
        items = op.request.arguments.get("items")
        if items is None:
            op.replace(arguments={"value": {"text": "scrubbed"}, "key": "new"})
        else:
            op.replace(inputs=[{**one, "value": {"text": "scrubbed"}, "key": "new"} for one in items])

    async def use() -> list[PutOp]:
        inner = Keeping()
        inner.ops = []
        made: BaseStore = inner if store == "plain" else Ttl(inner)
        await made.aput(("notes",), "k", VALUE, False, ttl=5)
        await made.aput(("notes",), "k", VALUE, index=["text"], ttl=7)
        await made.abatch([PutOp(("notes",), "k", VALUE, False, 9)])
        return inner.ops

    with recorder(hooks) as seen:
        kept = asyncio.run(use())
        gc.collect()
    assert [(op.key, op.value, op.index, op.ttl) for op in kept] == [
        ("new", {"text": "scrubbed"}, False, 5),
        ("new", {"text": "scrubbed"}, ["text"], 7),
        ("new", {"text": "scrubbed"}, False, 9),
    ]
    assert len(written(seen)) == 3


def test_a_batch_of_several_namespaces_and_a_delete() -> None:
    ops = [PutOp(("a", "b"), "k", VALUE), PutOp(("c",), "k", None), GetOp(("d",), "k")]

    async def use() -> None:
        await Batched(InMemoryStore()).abatch(ops)

    with recorder() as seen:
        asyncio.run(use())
        gc.collect()
    assert [name for name, _, _ in written(seen)] == ["a/b,c"]
    for name, refused in (("a/b", True), ("c", True), ("d", False)):
        hooks = Hooks()
        hooks.before("memory.store", names={name})(lambda op: Reject("no"))
        with recorder(hooks):
            if refused:
                with pytest.raises(Reject):
                    asyncio.run(use())
            else:
                asyncio.run(use())
            gc.collect()


def test_a_namespace_is_no_part_of_a_spans_name() -> None:
    store = InMemoryStore()
    with recorder() as seen:
        store.put(("users", "ann"), "k", VALUE)
        store.batch([PutOp(("users", "bob"), "k", VALUE)])
        store.delete(("users", "ann"), "k")
    assert [span.name for span in seen.spans] == ["upsert_memory", "upsert_memory", "delete_memory"]
    assert [op.name for op in seen.operations] == ["users/ann", "users/bob", "users/ann"]
