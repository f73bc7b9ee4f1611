"""`with` blocks of the application's own code: refused on entering, rewritten, answered, replaced, and ended once."""

import asyncio
import contextvars
import gc
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest
import trio
import trio.lowlevel
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, get_current_span

import spanhook
from spanhook import (
    Hooks,
    Operation,
    OperationError,
    OwnOperation,
    Reject,
    Settings,
    current_operation,
    operation,
    semconv,
)
from spanhook.concurrency import reaper
from spanhook.model import current
from spanhook.testing import recorder

MODES = ("with", "async with")
Body = Callable[[OwnOperation], Any]


def enter(mode: str, body: Body, kind: str = "tool.execute", name: str = "charge", **given: Any) -> Any:
    """Run ``body`` in a block; what it returns is awaited in an async one."""
    if mode == "with":
        with operation(kind, name, **given) as op:
            return body(op)

    async def wait() -> Any:
        async with operation(kind, name, **given) as op:
            result = body(op)
            return await result if isinstance(result, Awaitable) else result

    return asyncio.run(wait())


def refusing(scope: Any = "operation", **settings: Any) -> Hooks:
    hooks = Hooks()

    @hooks.before("tool.execute", name="refuse", **settings)
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402, scope=scope)

    return hooks


@pytest.mark.parametrize("mode", MODES)
def test_a_refusal_is_raised_on_entering(mode: str) -> None:
    ran: list[Any] = []
    with recorder(refusing()) as seen, pytest.raises(Reject, match="no") as caught:
        enter(mode, ran.append)
    assert (ran, caught.value.status_code) == ([], 402)
    assert [op.status for op in seen.operations] == ["rejected"]
    assert current.get() is None
    assert not get_current_span().get_span_context().is_valid
    assert not [one for one in caught.traceback if "/spanhook/engine/" in str(one.path)]


@pytest.mark.parametrize("mode", MODES)
def test_rewritten_arguments_are_read_from_it(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"charge"})
    async def at_most_fifty(op: Operation) -> None:
        op.replace(arguments={**op.request.arguments, "amount": 50})

    with recorder(hooks) as seen:
        found = enter(mode, lambda op: op.request.arguments, request={"arguments": {"amount": 60, "to": "ann"}})
    assert found == {"amount": 50, "to": "ann"}
    assert dict(seen.spans[0].attributes or {})["spanhook.modified"] == ("arguments",)


@pytest.mark.parametrize("mode", MODES)
def test_every_field_of_a_request(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        request = op.request
        assert (request.system, request.inputs, request.model) == ("Be brief.", {"n": 1}, "gpt-4o")
        assert [message["role"] for message in request.messages] == ["user", "user"]
        op.replace(
            messages=[*request.messages, {"role": "user", "parts": [{"type": "text", "content": "really"}]}],
            system="Be kind.",
            arguments={"top_k": 1},
            inputs={"n": 2},
            model="gpt-4o-mini",
        )

    messages = [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "ho"}]}]
    request = {"messages": messages, "system": "Be brief.", "arguments": {"top_k": 5}, "inputs": {"n": 1}}

    def read(op: OwnOperation) -> Any:
        found = op.request
        return found.messages, found.system, found.arguments, found.inputs, found.model, op.model

    with recorder(hooks):
        found = enter(mode, read, "llm.call", "gpt-4o", request=request)
    assert found == (
        [*messages, {"role": "user", "content": "really"}],
        "Be kind.",
        {"top_k": 1},
        {"n": 2},
        "gpt-4o-mini",
        "gpt-4o-mini",
    )


@pytest.mark.parametrize("mode", MODES)
def test_what_was_not_asked_for_cannot_be_rewritten(mode: str) -> None:
    hooks = Hooks()
    hooks.before("tool.execute", name="rewrite")(lambda op: op.replace(inputs=1))
    with recorder(hooks), pytest.raises(Reject, match="hook 'rewrite' failed") as caught:
        enter(mode, lambda op: None, request={"arguments": {}})
    assert "takes arguments=" in str(caught.value.__cause__)


def test_what_is_none_is_not_said() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("messages", "system", "arguments", "inputs"))
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.replace(system="Be kind."))
    with recorder(hooks), operation("llm.call", "m", request=nothing) as op:
        found = op.request
        assert (found.messages, found.system, found.arguments, found.inputs) == ([], "Be kind.", {}, None)


def answering(*, closed: bool = True) -> Hooks:
    hooks = Hooks()

    @hooks.around("tool.execute", name="seen")
    def around(op: Operation) -> Iterator[None]:
        yield

    @hooks.before("tool.execute", name="answer", fail_mode="closed" if closed else "open")
    def answer(op: Operation) -> None:
        op.respond("kept")

    return hooks


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_skips_what_is_called(mode: str) -> None:
    ran: list[str] = []
    with recorder(answering()) as seen:
        found = enter(mode, lambda op: op.call(ran.append, "x"))
    assert (found, ran, seen.operations[0].status) == ("kept", [], "success")
    assert [one.decision for one in seen.operations[0].decisions] == ["replace"]


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_skips_what_is_awaited(mode: str) -> None:
    async def never() -> str:
        raise AssertionError

    async def wait() -> Any:
        if mode == "with":
            with operation("tool.execute", "charge") as op:
                return await op.acall(never)
        async with operation("tool.execute", "charge") as op:
            return await op.acall(never)

    with recorder(answering()):
        assert asyncio.run(wait()) == "kept"


@pytest.mark.parametrize("way", ["bare", "result_of"])
@pytest.mark.parametrize("mode", MODES)
def test_an_answer_that_nobody_takes_fails_its_hook(mode: str, way: str) -> None:
    body: Body = (lambda op: op.result_of("paid")) if way == "result_of" else lambda op: "paid"
    with recorder(answering()) as seen, pytest.raises(Reject, match="hook 'answer' failed: HookError") as caught:
        enter(mode, body)
    assert "op.call()" in str(caught.value.__cause__)
    assert [one.decision for one in seen.operations[0].decisions] == ["replace", "error"]
    assert seen.operations[0].status == "rejected"
    with recorder(answering(closed=False)) as seen:
        assert enter(mode, body) == "paid"
    assert [one.decision for one in seen.operations[0].decisions] == ["replace", "error"]
    assert seen.operations[0].status == "success"


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_to_a_block_that_fails_leaves_its_error(mode: str) -> None:
    def fail(op: OwnOperation) -> None:
        raise ConnectionError

    with recorder(answering()) as seen, pytest.raises(ConnectionError):
        enter(mode, fail)
    assert seen.operations[0].status == "error"


def later(value: Any) -> Any:
    async def give() -> Any:
        await asyncio.sleep(0)
        return value

    return give


RESULTS: dict[str, Body] = {
    "call": lambda op: op.call(lambda: "said"),
    "acall": lambda op: op.acall(later("said")),
    "result_of": lambda op: op.result_of("said"),
    "aresult_of": lambda op: op.aresult_of("said"),
}


def use(mode: str, way: str, kind: str = "tool.execute", **given: Any) -> Any:
    """Give a block its result in one of the ways there are."""
    if mode == "with" and way.startswith("a"):

        async def wait() -> Any:
            with operation(kind, "charge", **given) as op:
                return await RESULTS[way](op)

        return asyncio.run(wait())
    return enter(mode, RESULTS[way], kind, **given)


def shouting() -> Hooks:
    """Hooks of every form, of which the last ones await."""
    hooks = Hooks()

    @hooks.around("tool.execute")
    def plain(op: Operation) -> Iterator[Any]:
        result = yield
        return f"<{result}>"

    @hooks.around("tool.execute")
    async def awaiting(op: Operation, call_next: Any) -> Any:
        await asyncio.sleep(0)
        await call_next()
        await asyncio.sleep(0)
        return op.result.upper()

    @hooks.after("tool.execute", priority=50)
    async def after(op: Operation) -> None:
        await asyncio.sleep(0)
        op.respond(op.result + "!")

    return hooks


@pytest.mark.every_combination
@pytest.mark.parametrize("way", RESULTS)
@pytest.mark.parametrize("mode", MODES)
def test_hooks_make_something_of_the_result(mode: str, way: str) -> None:
    with recorder(shouting()) as seen:
        assert use(mode, way) == "<SAID>!"
    [op] = seen.operations
    assert (op.result, op.status, op.response.value) == ("<SAID>!", "success", "<SAID>!")
    assert current.get() is None


@pytest.mark.parametrize("way", RESULTS)
@pytest.mark.parametrize("mode", MODES)
def test_a_hook_refuses_the_result(mode: str, way: str) -> None:
    hooks = Hooks()

    @hooks.after("tool.execute", priority=50)
    def refuse(op: Operation) -> None:
        raise Reject(f"{op.result} is secret")

    with recorder(hooks) as seen, pytest.raises(Reject, match="said is secret"):
        use(mode, way)
    assert [op.status for op in seen.operations] == ["rejected"]


@pytest.mark.parametrize("way", RESULTS)
@pytest.mark.parametrize("mode", MODES)
def test_without_hooks_and_uninstrumented(mode: str, way: str) -> None:
    assert use(mode, way) == "said"
    with recorder() as seen:
        assert use(mode, way) == "said"
    assert use(mode, way) == "said"
    assert [op.result for op in seen.operations] == ["said"]


@pytest.mark.parametrize("mode", MODES)
def test_hooks_after_a_bare_block_watch(mode: str) -> None:
    hooks = Hooks()
    told: list[Any] = []

    @hooks.after("tool.execute", name="watch")
    async def watch(op: Operation) -> None:
        told.append(op.result)
        op.respond("something else")

    with recorder(hooks) as seen:
        assert enter(mode, lambda op: "mine") == "mine"
    [op] = seen.operations
    assert (told, op.status) == ([None], "success")
    assert [(one.decision, "op.result_of" in one.reason) for one in op.decisions] == [("error", True)]


@pytest.mark.parametrize("mode", MODES)
def test_a_gate_that_cannot_replace_the_result_of_a_bare_block_fails_closed(mode: str) -> None:
    hooks = Hooks()
    hooks.after("tool.execute", name="redact", priority=60)(lambda op: op.respond("***"))
    with recorder(hooks) as seen, pytest.raises(Reject, match="hook 'redact' failed") as caught:
        enter(mode, lambda op: "secret")
    assert (caught.value.status_code, seen.operations[0].status) == (500, "rejected")


@pytest.mark.parametrize("mode", MODES)
def test_a_late_refusal_of_a_bare_block_is_raised_where_it_is_left(mode: str) -> None:
    hooks = Hooks()

    @hooks.after("tool.execute", priority=50)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks), pytest.raises(Reject, match="no"):
        enter(mode, lambda op: "mine")


# ----------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("mode", MODES)
def test_an_exception_leaves_as_it_was_raised(mode: str) -> None:
    error = ConnectionError("down")
    told: list[Any] = []
    hooks = Hooks()
    hooks.on_error("tool.execute")(lambda op: told.append(op.error))

    def fail(op: OwnOperation) -> None:
        raise error

    with recorder(hooks) as seen, pytest.raises(ConnectionError) as caught:
        enter(mode, fail)
    assert caught.value is error
    assert [entry.name for entry in caught.traceback][-1] == "fail"
    assert not [one for one in caught.traceback if "/spanhook/engine/" in str(one.path)]
    assert (repr(told), seen.operations[0].status) == (repr([error]), "error")


@pytest.mark.parametrize("way", ["call", "acall"])
@pytest.mark.parametrize("mode", MODES)
def test_a_hook_gives_a_value_for_a_failure(mode: str, way: str) -> None:
    hooks = Hooks()

    @hooks.around("tool.execute")
    def fall_back(op: Operation) -> Iterator[Any]:
        try:
            yield
        except ConnectionError:
            return "fallen back"

    def fail() -> str:
        raise ConnectionError

    async def afail() -> str:
        raise ConnectionError

    async def wait() -> Any:
        if mode == "with":
            with operation("tool.execute", "x") as op:
                return op.call(fail) if way == "call" else await op.acall(afail)
        async with operation("tool.execute", "x") as op:
            return op.call(fail) if way == "call" else await op.acall(afail)

    with recorder(hooks) as seen:
        assert asyncio.run(wait()) == "fallen back"
        with pytest.raises(ConnectionError):  # nobody is there to take it
            enter(mode, lambda op: fail())
    assert [op.status for op in seen.operations] == ["success", "error"]


@pytest.mark.parametrize("way", RESULTS)
@pytest.mark.parametrize("mode", MODES)
def test_a_block_that_fails_after_its_result(mode: str, way: str) -> None:
    hooks = Hooks()
    told: list[str] = []
    hooks.after("tool.execute")(lambda op: told.append("after"))
    hooks.on_error("tool.execute")(lambda op: told.append("error"))

    async def wait() -> Any:
        if mode == "with":
            with operation("tool.execute", "x") as op:
                result = RESULTS[way](op)
                assert (await result if way.startswith("a") else result) == "said"
                raise ConnectionError
        async with operation("tool.execute", "x") as op:
            result = RESULTS[way](op)
            assert (await result if way.startswith("a") else result) == "said"
            raise ConnectionError

    with recorder(hooks) as seen, pytest.raises(ConnectionError):
        asyncio.run(wait())
    assert (told, seen.operations[0].status) == (["after"], "error")


@pytest.mark.parametrize("mode", MODES)
def test_a_refusal_that_its_code_has_caught_is_not_raised_again(mode: str) -> None:
    hooks = Hooks()

    @hooks.after("tool.execute", priority=50)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    def body(op: OwnOperation) -> str:
        with pytest.raises(Reject):
            op.result_of("x")
        return "gone on"

    with recorder(hooks) as seen:
        assert enter(mode, body) == "gone on"
    assert seen.operations[0].status == "rejected"


# ----------------------------------------------------------------------------------------------- runs


def nested(mode: str, caught: type[BaseException] = Exception) -> Callable[[], Any]:
    """A block in a block in a block, each of which swallows what it can."""

    def middle(op: OwnOperation) -> Any:
        try:
            with operation("tool.execute", "inner"):
                raise AssertionError
        except caught:
            return "swallowed"

    async def amiddle(op: OwnOperation) -> Any:
        try:
            async with operation("tool.execute", "inner"):
                raise AssertionError
        except caught:
            return "swallowed"

    def outer(op: OwnOperation) -> Any:
        with operation("workflow.step", "middle") as inner:
            return middle(inner)

    async def aouter(op: OwnOperation) -> Any:
        async with operation("workflow.step", "middle") as inner:
            return await amiddle(inner)

    return lambda: enter(mode, outer if mode == "with" else aouter, "agent.invoke", "outer")


@pytest.mark.parametrize("mode", MODES)
def test_a_refusal_inside_is_an_exception_like_any(mode: str) -> None:
    with recorder(refusing()) as seen:
        assert nested(mode)() == "swallowed"
    assert [op.status for op in seen.operations] == ["rejected", "success", "success"]


@pytest.mark.parametrize("caught", [Exception, BaseException])
@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_is_refused_ends_with_the_plain_rejection(mode: str, caught: type[BaseException]) -> None:
    with recorder(refusing("run")) as seen, pytest.raises(Reject, match="no") as raised:
        nested(mode, caught)()
    assert type(raised.value) is Reject
    assert raised.value.scope == "run"
    assert [op.status for op in seen.operations][::2] == ["rejected", "rejected"]
    assert current.get() is None


@pytest.mark.parametrize("mode", MODES)
def test_the_identity_and_the_tree(mode: str) -> None:
    with recorder() as seen, spanhook.context(tenant_id="acme"):
        nested(mode, AssertionError)()
    assert [(op.name, op.agent, op.identity.tenant_id) for op in seen.operations] == [
        ("inner", "outer", "acme"),
        ("middle", "outer", "acme"),
        ("outer", "outer", "acme"),
    ]
    [root] = seen.tree()
    assert root["children"][0]["children"][0]["name"] == "execute_tool inner"


def test_usage() -> None:
    hooks = Hooks()
    seen_by_hook: list[Any] = []
    hooks.after("llm.call")(lambda op: seen_by_hook.append((op.usage.total_tokens, op.usage.cost_usd)))
    with (
        recorder(hooks) as seen,
        operation("agent.invoke", "a"),
        operation("llm.call", "gpt-4o-mini", provider="openai") as op,
    ):
        op.record_usage(input_tokens=10, output_tokens=2)
        op.record_usage(input_tokens=5, cache_read_tokens=5, model="gpt-4o-mini-2024-07-18")
        assert op.usage.total_tokens == 17
        assert op.result_of("x") == "x"
        op.record_usage(output_tokens=3)
    call, run = seen.operations
    assert (call.usage.input_tokens, call.usage.output_tokens, call.usage.cache_read_tokens) == (15, 5, 5)
    assert (run.usage.total_tokens, run.usage.llm_calls) == (20, 1)
    assert seen_by_hook == [(17, pytest.approx(10 * 15e-8 + 2 * 6e-7 + 5 * 75e-9))]
    assert list(run.usage_by_model) == ["gpt-4o-mini-2024-07-18"]
    with pytest.raises(OperationError, match="has ended"):
        op.record_usage(input_tokens=1)


def test_usage_from_many_threads_is_all_counted() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with recorder() as seen, operation("llm.call", "m") as op:
            together = threading.Barrier(8)

            def work() -> None:
                together.wait()
                for _ in range(500):
                    op.record_usage(input_tokens=1, output_tokens=2)

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    [told] = seen.operations
    assert (told.usage.input_tokens, told.usage.output_tokens) == (4000, 8000)


def test_usage_that_is_no_number_is_named() -> None:
    wrong: Any = "many"
    with recorder() as seen, operation("llm.call", "m") as op:
        op.record_usage(input_tokens=wrong, output_tokens=2)
    assert seen.operations[0].usage.uncounted == ("input_tokens",)


def test_content_that_was_asked_for() -> None:
    request = {"messages": "hi", "system": "Be brief."}
    with recorder(settings=spanhook.Settings(content="SPAN_ONLY")) as seen:
        with operation("llm.call", "m", request=request) as op:
            op.result_of("hello")
        with operation("tool.execute", "t", request={"arguments": {"a": 1}}) as op:
            op.result_of({"b": 2})
    said, did = (dict(span.attributes or {}) for span in seen.spans)
    assert '"hi"' in str(said["gen_ai.input.messages"])
    assert '"hello"' in str(said["gen_ai.output.messages"])
    assert (did["gen_ai.tool.call.arguments"], did["gen_ai.tool.call.result"]) == ('{"a": 1}', '{"b": 2}')


@pytest.mark.parametrize("result", ["hello", {"content": "hello"}], ids=str)
def test_a_model_s_output_is_the_assistant_s(result: Any) -> None:
    with recorder() as seen, operation("llm.call", "m") as op:
        op.result_of(result)
    [message] = seen.operations[0].response.messages
    assert message["role"] == "assistant"
    assert message["parts"] == [{"type": "text", "content": "hello"}]


def test_unsampled() -> None:
    hooks = Hooks()
    ran: list[str] = []
    hooks.before("tool.execute")(lambda op: ran.append(op.name))
    with recorder(hooks, sampler=ALWAYS_OFF) as seen, operation("tool.execute", "x") as op:
        op.result_of(1)
    assert (ran, seen.spans, len(seen.operations)) == (["x"], [], 1)


def test_what_hooks_call_is_not_gated() -> None:
    hooks = Hooks()
    asked: list[str] = []

    @hooks.before("tool.execute")
    def ask(op: Operation) -> None:
        asked.append(op.name)
        with operation("tool.execute", "inside"):
            pass

    with recorder(hooks) as seen, operation("tool.execute", "outside"):
        pass
    assert asked == ["outside"]
    assert [(op.name, op.in_hook) for op in seen.operations] == [("inside", True), ("outside", False)]


# ----------------------------------------------------------------------------------------------- mistakes


def test_an_operation_is_entered_once() -> None:
    block = operation("tool.execute", "x")
    with recorder() as seen:
        with block, pytest.raises(OperationError, match="already entered"), block:
            raise AssertionError
        with pytest.raises(OperationError, match="already entered"), block:
            raise AssertionError
        with pytest.raises(OperationError, match="without being entered"):
            operation("tool.execute", "x").__exit__(None, None, None)
    assert [op.status for op in seen.operations] == ["success"]


@pytest.mark.parametrize("first", RESULTS)
@pytest.mark.parametrize("second", [*RESULTS, "stream"])
def test_an_operation_has_one_result(first: str, second: str) -> None:
    async def wait() -> None:
        async with operation("tool.execute", "x") as op:
            found = RESULTS[first](op)
            if first.startswith("a"):
                await found
            with pytest.raises(OperationError, match=rf"op\.{second}\(\) was called after op\.{first}\(\)"):
                if second == "stream":
                    op.stream("ab")
                else:
                    again = RESULTS[second](op)
                    await again

    with recorder() as seen:
        asyncio.run(wait())
    assert [op.status for op in seen.operations] == ["success"]


def test_an_operation_is_not_used_once_it_has_been_left() -> None:
    with recorder(), operation("tool.execute", "x") as op:
        pass
    with pytest.raises(OperationError, match="has been left"):
        op.result_of(1)


def test_what_is_async_is_awaited() -> None:
    async def give() -> int:
        return 1

    with (
        recorder() as seen,
        pytest.raises(OperationError, match=r"await op\.acall\(\)"),
        operation("tool.execute") as op,
    ):
        _ = op.call(give)
    assert seen.operations[0].status == "error"


def test_its_code_does_not_decide() -> None:
    with recorder(), operation("tool.execute", "x") as op:
        with pytest.raises(spanhook.SealedError, match="use a hook"):
            op.respond(1)
        with pytest.raises(spanhook.SealedError, match="use a hook"):
            op.replace(arguments={})


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"kind": "tool.exeute"}, "register_kind"),
        ({"name": 3}, "expected a string"),
        ({"request": []}, "expected a mapping"),
        ({"request": {"argument": {}}}, "unknown field 'argument'; expected messages"),
        ({"request": {"arguments": [1]}}, "expected a mapping by name"),
        ({"request": {"messages": 1}}, "expected a list"),
        ({"request": {"system": 1}}, "expected a string"),
    ],
)
def test_what_cannot_be_is_refused_at_once(given: Any, what: str) -> None:
    wrong: dict[str, Any] = {"kind": "tool.execute", **given}
    with pytest.raises(spanhook.ConfigurationError, match=what):
        operation(**wrong)


def test_a_request_is_not_for_functions() -> None:
    with pytest.raises(spanhook.ConfigurationError, match="request= is for"):
        operation("tool.execute", request={})(len)


# ----------------------------------------------------------------------------------------------- surroundings


def test_exit_stacks() -> None:
    async def wait() -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(operation("tool.execute", "c"))

    with recorder() as seen:
        with ExitStack() as stack:
            stack.enter_context(operation("agent.invoke", "a"))
            stack.enter_context(operation("tool.execute", "b"))
        asyncio.run(wait())
    assert [op.name for op in seen.operations] == ["b", "a", "c"]


def test_tasks_and_threads() -> None:
    async def one(name: str) -> None:
        async with operation("tool.execute", name):
            await asyncio.sleep(0)
            now = current_operation()
            assert now is not None
            assert now.name == name

    async def main() -> None:
        async with operation("agent.invoke", "a"):
            await asyncio.gather(*(one(str(index)) for index in range(20)))
            thread = threading.Thread(target=contextvars.copy_context().run, args=(lambda: asyncio.run(one("t")),))
            thread.start()
            await asyncio.to_thread(thread.join)

    with recorder() as seen:
        asyncio.run(main())
    assert len(seen.operations) == 22
    assert {op.parent.name for op in seen.operations[:-1] if op.parent} == {"a"}


def test_a_cancelled_block() -> None:
    hooks = Hooks()
    told: list[str] = []

    @hooks.on_error("tool.execute")
    async def note(op: Operation) -> None:
        await asyncio.sleep(0)
        told.append(op.status)

    async def hang(way: str) -> None:
        async with operation("tool.execute", way) as op:
            if way == "bare":
                await asyncio.Event().wait()
            await op.acall(asyncio.Event().wait)

    async def main(way: str) -> None:
        task = asyncio.create_task(hang(way))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(hooks) as seen:
        asyncio.run(main("bare"))
        asyncio.run(main("acall"))
    assert told == [op.status for op in seen.operations] == ["cancelled", "cancelled"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_goes_through(mode: str, error: type[BaseException]) -> None:
    def fail(op: OwnOperation) -> None:
        raise error

    with recorder(shouting()) as seen, pytest.raises(error):
        enter(mode, fail)
    assert seen.operations[0].status == ("cancelled" if error is KeyboardInterrupt else "error")
    assert current.get() is None


def test_a_generator_that_is_dropped_in_its_block() -> None:
    def words() -> Iterator[str]:
        with operation("llm.call", "m"):
            yield "a"
            yield "b"

    async def awords() -> AsyncIterator[str]:
        async with operation("llm.call", "m"):
            yield "a"
            yield "b"

    async def main() -> None:
        stream = awords()
        assert await anext(stream) == "a"
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]

    with recorder() as seen:
        stream = contextvars.copy_context().run(lambda: [made := words(), next(made)][0])
        assert current.get() is None
        del stream
        gc.collect()
        asyncio.run(main())
        reaper.drain(60.0)
        assert [op.status for op in seen.operations] == ["abandoned", "abandoned"]
    assert current.get() is None


def test_a_block_that_nobody_leaves_is_ended_once_it_is_dropped() -> None:
    with recorder(answering()) as seen:
        contextvars.copy_context().run(operation("tool.execute", "x").__enter__)
        gc.collect()
        reaper.drain(60.0)
        assert [op.status for op in seen.operations] == ["abandoned"]
        assert len(seen.spans) == 1


def test_a_forked_child_ends_what_it_is_in() -> None:
    with recorder(refusing(names={"refused"})) as seen, operation("tool.execute", "parent"):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                with operation("tool.execute", "child") as op:
                    op.result_of(1)
                try:
                    with operation("tool.execute", "refused"):
                        code = 2
                except Reject:
                    code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert [op.name for op in seen.operations] == ["parent"]


@pytest.mark.parametrize("way", ["acall", "aresult_of", "result_of"])
def test_under_trio(way: str) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    async def before(op: Operation) -> None:
        await asyncio.sleep(0)
        op.replace(arguments={"amount": 1})

    @hooks.after("tool.execute", priority=50)
    async def after(op: Operation) -> None:
        await asyncio.sleep(0)
        op.respond(op.result + 1)

    async def paid(amount: int) -> int:
        await trio.lowlevel.checkpoint()
        return amount

    async def main() -> int:
        async with operation("tool.execute", "x", request={"arguments": {"amount": 5}}) as op:
            amount = op.request.arguments["amount"]
            if way == "acall":
                return await op.acall(paid, amount)
            return op.result_of(amount) if way == "result_of" else await op.aresult_of(amount)

    with recorder(hooks) as seen:
        assert trio.run(main) == 2
    assert [op.status for op in seen.operations] == ["success"]


def test_a_trio_block_that_is_cancelled() -> None:
    async def main() -> None:
        with trio.move_on_after(0.01):
            async with operation("tool.execute", "x"):
                await trio.sleep_forever()

    with recorder(answering(closed=False)) as seen:
        trio.run(main)
    assert [op.status for op in seen.operations] == ["cancelled"]


# ----------------------------------------------------------------- what its span says


def test_why_a_model_stopped_is_told_by_its_author_or_its_message() -> None:
    with recorder() as seen:
        with operation("llm.call", "m") as op:
            op.record_usage(output_tokens=1, finish_reason="length")
        with operation("llm.call", "m") as op:
            op.result_of({"role": "assistant", "content": "yes", "finish_reason": "stop"})
        with operation("llm.call", "m") as op:
            op.result_of({"role": "assistant", "content": "yes", "finish_reason": 7})
        with operation("tool.execute", "t") as op:
            op.result_of({"finish_reason": "none of its own"})
        found = [(span.attributes or {}).get(semconv.GEN_AI_RESPONSE_FINISH_REASONS) for span in seen.spans]
    assert found == [("length",), ("stop",), None, None]


def test_a_message_of_a_model_in_a_decorated_function_tells_it_too() -> None:
    @operation("llm.call", "m")
    def ask() -> dict[str, str]:
        return {"role": "assistant", "content": "yes", "finish_reason": "stop"}

    with recorder() as seen:
        ask()
        [span] = seen.spans
    assert (span.attributes or {})[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == ("stop",)


def test_a_provider_that_nobody_names_is_another_to_backends_and_none_to_hooks() -> None:
    hooks, seen_by_hooks = Hooks(), list[str]()
    hooks.before("*")(lambda op: seen_by_hooks.append(op.provider))
    with recorder(hooks) as seen:
        for kind in ("llm.call", "embeddings.create", "agent.invoke", "agent.lifecycle", "tool.execute"):
            with operation(kind, "x"):
                pass
        found = [(span.attributes or {}).get(semconv.GEN_AI_PROVIDER_NAME) for span in seen.spans]
    assert found == [semconv.UNKNOWN_PROVIDER] * 4 + [None]
    assert seen_by_hooks == [""] * 5


@pytest.mark.parametrize(
    ("kind", "client"),
    [
        ("llm.call", True),
        ("embeddings.create", True),
        ("retrieval.query", True),
        ("agent.lifecycle", True),
        ("agent.invoke", False),
        ("tool.execute", False),
    ],
)
def test_what_is_a_call_of_a_service_is_a_clients_span(kind: str, client: bool) -> None:
    with recorder() as seen:
        with operation(kind, "x"):
            pass
        operation(kind, "x")(lambda: None)()
        assert {span.kind is SpanKind.CLIENT for span in seen.spans} == {client}


def test_a_block_that_streams_says_so() -> None:
    with recorder() as seen:
        with operation("llm.call", "m") as op:
            assert "".join(op.stream(iter("ab"))) == "ab"
        with operation("tool.execute", "t") as op:
            assert "".join(op.stream(iter("ab"))) == "ab"
        model, tool = (span.attributes or {} for span in seen.spans)
    assert model[semconv.GEN_AI_REQUEST_STREAM] is True
    assert semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK in model
    assert not {semconv.GEN_AI_REQUEST_STREAM, semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK} & tool.keys()


def test_a_retrieval_without_a_query_has_none() -> None:
    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        with operation("retrieval.query", "docs"):
            pass
        with operation("retrieval.query", "docs", request={"inputs": "when?"}):
            pass
        found = [(span.attributes or {}).get(semconv.GEN_AI_RETRIEVAL_QUERY_TEXT) for span in seen.spans]
    assert found == [None, "when?"]


def test_a_hand_off_names_the_agent_that_hands_off() -> None:
    with recorder() as seen:
        with operation("agent.invoke", "desk"), operation("agent.delegate", "billing"):
            pass
        with operation("agent.delegate", "shipping"):
            pass
    named = {
        span.attributes["gen_ai.agent.name"]: span.attributes["spanhook.delegating_agent.name"]
        for span in seen.spans
        if span.attributes and "delegate" in span.name
    }
    assert named == {"billing": "desk", "shipping": ""}
