"""Programs and agents: ``Module.__call__`` and ``acall``.

A program is a tree of modules. Its outermost module is the run; those inside it are parts of that, unless they are
agents: modules that call tools. A ``Predict`` is one call of a model, and no run.
"""

from collections.abc import Mapping
from typing import Any, cast

from dspy import Prediction
from dspy.predict.predict import Predict

from spanhook import semconv
from spanhook.instrument.wire import encoded
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    Kwargs,
    Message,
    Reading,
    Record,
    Request,
    current_record,
    goes_on,
)

PROVIDER = "dspy"
_LAYER = "dspy.run"
_AGENTS = frozenset(("ReAct", "ReActV2", "CodeAct", "RLM"))


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a module's call; ``None`` for one that is only a part of a run."""
    if isinstance(instance, Predict):
        return None
    run = _enclosing(current_record())
    if run is None:
        return RUN
    if run.instance is instance:
        return None if goes_on(run, args, kwargs) else RUN
    agent = any(one.__name__ in _AGENTS for one in type(instance).__mro__)
    return RUN if agent else None


def _enclosing(op: Record | None) -> Record | None:
    while op is not None and op.adapter.layer != _LAYER:
        op = op.parent
    return op


def run_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: type(instance).__name__}


def _as_text(fields: Mapping[str, Any]) -> str:
    return encoded(
        {name: value if isinstance(value, str | int | float) else str(value) for name, value in fields.items()}
    )


def _inputs(instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any] | None:
    """What a program is given, by name; ``None`` if positions have no names."""
    if not args:
        return dict(kwargs)
    code = getattr(type(instance).forward, "__code__", None)
    names = code.co_varnames[1 : code.co_argcount] if code is not None else ()
    return {**dict(zip(names, args, strict=False)), **kwargs} if len(names) >= len(args) else None


def run_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = _inputs(instance, args, kwargs)
    fields = {**{str(place): one for place, one in enumerate(args)}, **kwargs} if given is None else given
    told: Message = {"role": "user", "parts": [{"type": "text", "content": _as_text(fields)}]}
    return Request(messages=[told], inputs=fields)


def run_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    if change.inputs is None:
        return args, kwargs
    if _inputs(instance, args, kwargs) is None:
        raise ValueError("the inputs of this program have no names; refuse it, or call it with keywords")
    return (), dict(change.inputs)


def run_output(result: Any) -> list[Message]:
    known: Any = result
    fields: dict[str, Any] = known.toDict() if isinstance(result, Prediction) else {"result": result}
    return [{"role": "assistant", "parts": [{"type": "text", "content": _as_text(fields)}]}]


def run_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    if isinstance(value, Prediction):
        return value
    if isinstance(value, dict):
        return Prediction(**cast("dict[str, Any]", value))
    raise TypeError(f"a program's answer is a Prediction or its fields by name, not {type(value).__name__}")


RUN = Adapter(
    kind="agent.invoke",
    layer=_LAYER,
    start=run_start,
    reading=Reading(request=run_request, output=run_output),
    editing=Editing(rewrite=run_rewrite, takes=frozenset(("inputs",)), answer=run_answer),
)
