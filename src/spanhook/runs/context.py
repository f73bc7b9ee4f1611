"""What run hooks receive: ``RunContext``, and how it is read from an operation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from uuid import UUID

from spanhook.diagnostics import internal
from spanhook.model import Operation, RunFacts, Usage, copied, exact_text, words
from spanhook.runs.user import User, user_of

T = TypeVar("T")

NO_MODEL = "unknown"
CANCELLED, CANCELLED_TYPE = "Run was cancelled", "CancelledError"


@dataclass(frozen=True)
class RunContext:
    """What a run hook receives about a run. Each hook gets its own; only ``metadata`` is shared.

    Attributes:
        run_id: The id that the server gave the run; otherwise an id that spanhook made.
        thread_id: The thread or session; empty if there is none.
        assistant_id, graph_id: From the run's configuration; otherwise the name of the graph or agent.
        user: Who the run is for.
        config: A copy of the configuration that the run was given.
        input: What the run was given.
        output: In ``after_run``: the run's result.
        status: In ``after_run``: ``"success"``, ``"interrupted"``, or ``"abandoned"`` if a stream was not read
            to its end.
        error, error_type: In ``on_run_error``: the exception's text and the name of its class.
        extras: Further information. ``usage_metadata``, in ``after_run`` and ``on_run_error``: tokens by model; absent
            if none were used.
        metadata: Shared by the hooks of one run: a hook can store here what later ones need.
    """

    run_id: str
    thread_id: str
    assistant_id: str
    graph_id: str
    user: User
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    input: Any = None
    output: Any = None
    status: str | None = None
    error: str | None = None
    error_type: str | None = None
    extras: dict[str, Any] = field(default_factory=dict[str, Any])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


def context_of(op: Operation) -> RunContext:
    """The context of the run that ``op`` is."""
    said = getattr(op._record.instance, "facts", None) if op.kind == "run" else None
    facts = said if isinstance(said, RunFacts) else None
    identity = op.identity
    config = copied(dict(facts.config)) if facts is not None else _read(op, lambda: op.extras.get("config"), {}) or {}
    known = (_mapping(config.get("configurable")), _mapping(config.get("metadata")))
    user = _read(op, lambda: None if facts is None or facts.user is None else user_of(facts.user), None)
    if user is None and (told := known[0].get("langgraph_auth_user")) is not None:
        user = _read(op, lambda: user_of(told), None)
    if user is None:
        user = User(identity.user_id, org_id=identity.tenant_id or None)
    failed = op.phase == "error"
    cancelled = op.status == "cancelled"
    return RunContext(
        run_id=identity.run_id,
        thread_id=(facts.thread_id if facts else "") or _first(known, "thread_id") or identity.session_id,
        assistant_id=(facts.assistant_id if facts else "") or _first(known, "assistant_id") or op.name,
        graph_id=(facts.graph_id if facts else "") or _first(known, "graph_id") or op.name,
        user=user,
        config=config,
        input=_read(op, lambda: _input(op), None),
        output=_read(op, lambda: op.result, None) if op.phase == "post" else None,
        status=op.status if op.phase == "post" else None,
        error=(CANCELLED if cancelled else words(_error(op))) if failed else None,
        error_type=(CANCELLED_TYPE if cancelled else type(_error(op)).__name__) if failed else None,
        extras={} if op.phase == "pre" else _extras(op.usage_by_model),
        metadata=op.state,
    )


def _read(op: Operation, read: Callable[[], T], otherwise: T) -> T:
    """Read one part of the context.

    If that fails, ``before_run`` hooks fail, since they must not decide without it; later hooks get ``otherwise``.
    """
    if op.phase == "pre":
        return read()
    try:
        return read()
    except Exception as error:
        internal.report("runs.context", error)
        return otherwise


def _input(op: Operation) -> Any:
    request = op.request
    if request.inputs is not None:
        return request.inputs
    if op.kind == "tool.execute":
        return request.arguments
    return {"messages": request.messages} if request.messages else None


def _error(op: Operation) -> BaseException:
    error = op._record.error
    assert error is not None
    return error


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _first(sources: tuple[Mapping[str, Any], ...], name: str) -> str:
    """The first id of this name, as a string; empty if there is none."""
    for source in sources:
        found = source.get(name)
        if isinstance(found, str | int | UUID) and not isinstance(found, bool) and found != "":
            return exact_text(found)
    return ""


def _extras(by_model: Mapping[str, Usage]) -> dict[str, Any]:
    found: dict[str, Usage] = {}
    for model, used in by_model.items():
        named = model or NO_MODEL
        if named in found:
            found[named].add(used)
        else:
            found[named] = used
    return {"usage_metadata": {model: _counts(used) for model, used in found.items()}} if found else {}


def _counts(used: Usage) -> dict[str, Any]:
    """Token counts in LangChain's form, with details if there are any."""
    counts: dict[str, Any] = {
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "total_tokens": used.total_tokens,
    }
    of_input = {"cache_read": used.cache_read_tokens, "cache_creation": used.cache_write_tokens}
    of_output = {"reasoning": used.reasoning_tokens}
    details = {"input_token_details": of_input, "output_token_details": of_output}
    return counts | {name: known for name, known in details.items() if any(known.values())}
