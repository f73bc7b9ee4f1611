"""The public interface, used the way users use it. Type-checked and never run, so that its types stay what they are."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, assert_type

import httpx
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Span

import spanhook
from spanhook import (
    ConfigurationError,
    DecisionRecord,
    Event,
    Hook,
    HookError,
    Hooks,
    Identity,
    Operation,
    Reject,
    Request,
    RequirementError,
    Response,
    SealedError,
    Settings,
    SpanhookError,
    UnboundError,
    Usage,
    current_operation,
)
from spanhook.testing import Recorder, fixed_clock, is_gated, recorder

# ----------------------------------------------------------------------------------------------- decorators

hooks = Hooks()
cache: dict[str, str] = {}
clients = spanhook.per_loop(httpx.AsyncClient)


@hooks.before("tool.execute", names={"refund"}, timeout=2.0)
async def paying_customers_only(op: Operation) -> None:
    client = clients()
    assert_type(client, httpx.AsyncClient)
    answer = await client.get("https://example.org", params={"user": op.identity.user_id})
    if answer.status_code == 402:
        raise Reject("An active subscription is required", status_code=402)


@hooks.before("llm.call", "embeddings.create", priority=10, fail_mode="open", blocking=True, models=["gpt-4o"])
def look(op: Operation) -> None:
    op.state["looked"] = True


@hooks.before("request", body=True, names={"/chat"})
def requested(op: Operation) -> None:
    op.replace(headers={**op.request.headers, "x-tenant": op.identity.tenant_id}, body=op.request.body)
    if op.status_code or op.response_headers:
        raise Reject("too many", status_code=429, retry_after=1.5)


@hooks.around("tool.execute", names={"search"})
def cached(op: Operation) -> Generator[None, str, str | None]:
    key = str(op.request.arguments["query"])
    if key in cache:
        return cache[key]
    result = yield
    cache[key] = result
    return None


@hooks.around("llm.call")
def timed(op: Operation) -> Iterator[None]:
    yield


@hooks.around("agent.invoke", agents=("helper",), timeout=None)
async def guarded(op: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(10):
        return await call_next()


@hooks.after("agent.invoke", tenant_id="acme", when=lambda op: op.usage.total_tokens > 0)
def bill(op: Operation) -> None:
    assert_type(op.usage.cost_usd, float | None)


@hooks.on_error("*", name="complain")
async def complain(op: Operation) -> None:
    assert_type(op.error, BaseException | None)


# A decorated function keeps its type.
assert_type(look(Operation.__new__(Operation)), None)
assert_type(next(cached(Operation.__new__(Operation))), None)

# ----------------------------------------------------------------------------------------------- subscriptions

unsubscribe = hooks.on("agent.invoke.post", lambda op: print(op.kind, op.status))
assert_type(unsubscribe, Callable[[], None])
unsubscribe()
hooks.on("*", look, priority=600, names=["refund"])
hooks.on("*", look, level="trace")
Hooks(level="trace")


@hooks.on("agent:end", level="summary")
def ended(event: Event) -> None:
    assert_type(event.alias, str)
    assert_type(event.tools_used, list[str])
    assert_type(event.timestamp, datetime)
    assert_type(event.payload(), dict[str, Any])


hooks.on("agent.invoke.post", ended)


@hooks.on("tool.execute.error", names=iter(["refund"]))
async def told(op: Operation) -> None:
    print(op.error)


assert_type(hooks.remove(told), bool)
assert_type(hooks.flush(None), bool)

# ----------------------------------------------------------------------------------------------- classes


class Audit(Hook):
    kinds = ("tool.execute", "llm.call")
    name = "audit"
    priority = 40
    timeout = 1.5
    fail_mode = "closed"
    blocking = True
    stream = "buffer"
    names = frozenset({"refund"})
    models = ("gpt-4o",)
    agents = ("helper",)
    tenant_id = "acme"

    def __init__(self, *, limit: int) -> None:
        self.limit = limit

    def before(self, op: Operation) -> None:
        if len(op.request.messages) > self.limit:
            raise Reject("Too long", scope="run")

    async def after(self, op: Operation) -> None:
        await asyncio.sleep(0)

    def on_error(self, op: Operation) -> None:
        print(op.error)


class Asynchronous(Hook):
    timeout = None

    async def before(self, op: Operation) -> None:
        await asyncio.sleep(0)


class Around(Hook):
    def around(self, op: Operation) -> Generator[None, Any, None]:
        yield


class Wrapping(Hook):
    async def around(self, op: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
        return await call_next()


audit = Audit(limit=10)
assert_type(hooks.add(audit), Audit)
assert_type(list(hooks), list[Hook])
assert_type(len(hooks), int)
hooks.remove(audit)
both = Hooks(audit, Asynchronous(), Around(), Wrapping())

processor: SpanProcessor = audit
provider = TracerProvider()
provider.add_span_processor(audit)

# ----------------------------------------------------------------------------------------------- operations


def see(op: Operation) -> None:
    assert_type(op.name, str)
    assert_type(op.model, str)
    assert_type(op.provider, str)
    assert_type(op.event, str)
    assert_type(op.root, Operation)
    assert_type(op.parent, Operation | None)
    assert_type(op.span, Span)
    assert_type(op.in_hook, bool)
    assert_type(op.result, Any)
    assert_type(op.state, dict[str, Any])
    assert_type(op.extras, dict[str, Any])
    assert_type(op.phase, Literal["pre", "post", "error"])
    if op.kind == "tool.execute":
        print("a tool")
    if op.status in ("rejected", "error"):
        print("not well")

    assert_type(op.identity, Identity)
    assert_type(op.identity.tenant_id, str)
    assert_type(op.identity.run_id, str)
    assert_type(op.identity.attributes, Mapping[str, str | bool | int | float])

    assert_type(op.request, Request)
    assert_type(op.request.messages, list[dict[str, Any]])
    assert_type(op.request.system, str)
    assert_type(op.request.tools, list[str])
    assert_type(op.request.arguments, dict[str, Any])
    assert_type(op.request.model, str)

    assert_type(op.response, Response)
    assert_type(op.response.messages, Sequence[dict[str, Any]])
    assert_type(op.response.text, str)

    assert_type(op.usage, Usage)
    assert_type(op.usage.input_tokens, int)
    assert_type(op.usage.output_tokens, int)
    assert_type(op.usage.cache_read_tokens, int)
    assert_type(op.usage.reasoning_tokens, int)
    assert_type(op.usage.total_tokens, int)
    assert_type(op.usage.llm_calls, int)
    assert_type(op.usage.tool_calls, int)
    assert_type(op.usage.estimated, bool)
    assert_type(op.usage.by_model, Mapping[str, Usage])
    assert_type(op.usage_by_model, Mapping[str, Usage])

    for decision in op.decisions:
        assert_type(decision, DecisionRecord)
        assert_type(decision.hook, str)
        assert_type(decision.reason, str)
        assert_type(decision.duration_ns, int)
        if decision.decision == "reject":
            assert_type(decision.status_code, int)


def change(op: Operation) -> None:
    op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}])
    op.replace(messages=[[{"role": "user", "parts": []}], [{"role": "user", "parts": []}]])
    op.replace(system="Be brief.", model="gpt-4o-mini")
    op.replace(arguments={**op.request.arguments, "amount": 1}, inputs={"value": "x"})
    op.respond("an answer")


inside = current_operation()
assert_type(inside, Operation | None)

# ----------------------------------------------------------------------------------------------- errors

reject = Reject("no", status_code=429, scope="run")
assert_type(reject.reason, str)
assert_type(reject.status_code, int)
assert_type(reject.scope, Literal["operation", "run"])
tree: tuple[type[SpanhookError], ...] = (
    ConfigurationError,
    HookError,
    Reject,
    RequirementError,
    SealedError,
    UnboundError,
)

# ----------------------------------------------------------------------------------------------- instrumenting

spanhook.instrument()
spanhook.instrument(hooks)
spanhook.instrument(audit)
spanhook.instrument([hooks, both])
spanhook.instrument([hooks, audit], only=["langchain_core"], require={"langgraph"})
spanhook.instrument(
    hooks,
    tracer_provider=provider,
    meter_provider=MeterProvider(),
    logger_provider=LoggerProvider(),
    settings=Settings(mode="off", steps=True, stream_usage=True, trust_baggage=True, content="SPAN_ONLY"),
)
spanhook.instrument(settings=Settings(strict=True, allow={"cohere", "fastmcp"}))
spanhook.uninstrument()


async def scheduled() -> None:
    spanhook.iteration_hooks("spanhook.yaml").on_completion("s")
    async with spanhook.scheduler("spanhook.yaml") as running:
        assert_type([entry.id for entry in running.entries], list[str])


assert_type(Settings().mode, Literal["enforce", "shadow", "off"])
assert_type(spanhook.__version__, str)

# ----------------------------------------------------------------------------------------------- context

with spanhook.context(tenant_id="acme", user_id="ann", session_id="s-1", baggage=True, plan="pro", seats=3) as who:
    assert_type(who, Identity)


@spanhook.context(tenant_id="acme")
def handle(request: str) -> int:
    return len(request)


assert_type(handle("x"), int)

# ----------------------------------------------------------------------------------------------- one per loop


class Pool:
    async def take(self) -> AsyncIterator[int]:
        yield 1


pools = spanhook.per_loop(Pool)
assert_type(pools(), Pool)
assert_type(spanhook.per_loop(lambda: httpx.AsyncClient(timeout=1.0))(), httpx.AsyncClient)

# ----------------------------------------------------------------------------------------------- testing

with recorder(hooks, sampler=ALWAYS_OFF, only=["openai"], require=("openai",), settings=Settings()) as seen:
    assert_type(seen, Recorder)
assert_type(seen.operations, list[Operation])
assert_type(seen.spans, list[ReadableSpan])
assert_type(seen.events, list[dict[str, Any]])
assert_type(seen.metrics(), dict[str, list[tuple[dict[str, Any], Any]]])
assert_type(seen.tree(), list[dict[str, Any]])
assert_type(seen.tracer_provider, TracerProvider)
assert_type(seen.meter_provider, MeterProvider)
assert_type(seen.logger_provider, LoggerProvider)
with fixed_clock(step_ns=10):
    assert_type(is_gated("tool.execute", lambda: None), bool)

# ----------------------------------------------------------------------------------------------- mistakes

Settings(strict=1)  # pyright: ignore[reportArgumentType]
Reject("no", scope="everything")  # pyright: ignore[reportArgumentType]
Settings(content="ALL")  # pyright: ignore[reportArgumentType]
Settings(mode="dry-run")  # pyright: ignore[reportArgumentType]
hooks.before("tool.execute", prio=1)  # pyright: ignore[reportCallIssue]
hooks.before("tool.execute", fail_mode="maybe")  # pyright: ignore[reportArgumentType]
spanhook.instrument("hooks.py:hooks")  # pyright: ignore[reportArgumentType]
spanhook.context(tenant_id=1)  # pyright: ignore[reportArgumentType]


def misread(op: Operation) -> bool:
    return op.status == "refused" or op.kind == "tool"  # pyright: ignore[reportUnnecessaryComparison]
