"""Tools that LiteLLM itself executes because a model asked for it."""

import json
from typing import Any, cast

from spanhook.instrument.functions import Functions
from spanhook.instrument.signatures import Signature
from spanhook.instrument.wire import decoded
from spanhook.model import Args, Carried, Kwargs, Nesting, in_order

_LAYER = "litellm.tool"

# ----------------------------------------------------------------------- functions of a harness: (tool, arguments)

_HARNESS = Signature("tool", "arguments")


def _tool(args: Args, kwargs: Kwargs) -> Any:
    return _HARNESS.given(args, kwargs, "tool")


#: The model is told of a refusal, as of whatever a tool raises.
FUNCTION = Functions(
    layer=_LAYER,
    name=lambda _instance, args, kwargs: _tool(args, kwargs).name,
    description=lambda _instance, args, kwargs: _tool(args, kwargs).spec["function"].get("description"),
    arguments=lambda _instance, args, kwargs: _HARNESS.given(args, kwargs, "arguments"),
    with_arguments=lambda _instance, args, kwargs, given: _HARNESS.having(args, kwargs, arguments=given),
).adapter()


# ----------------------------------------------------------------------------------- a search: (query, kwargs, rich)

_SEARCH = Signature("query", "kwargs", "rich")
_RICH = ("objective", "search_queries")


def _query(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """What is searched: some providers take more than the query."""
    rich: dict[str, Any] = _SEARCH.given(args, kwargs, "rich") or {}
    return {"query": _SEARCH.given(args, kwargs, "query"), **rich}


def _with_query(_instance: Any, args: Args, kwargs: Kwargs, given: dict[str, Any]) -> tuple[Args, Kwargs]:
    rich = {name: given[name] for name in _RICH if name in given}
    return _SEARCH.having(args, kwargs, query=given.get("query", ""), rich=rich or None)


def _found(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """What a search returns: the text for the model, and the results behind it."""
    if isinstance(value, tuple):
        return cast("Any", value)
    return (value if isinstance(value, str) else json.dumps(value)), None


SEARCH = Functions(
    layer=_LAYER,
    name=lambda _instance, _args, _kwargs: "litellm_web_search",
    arguments=_query,
    with_arguments=_with_query,
    output=lambda result: result[0] if isinstance(result, tuple) else result,
    answer=_found,
    rejected=_found,
).adapter()


# ------------------------------------------------------------------------- code in a sandbox: (container, params, ...)

_RUN = Signature("container", "params", "arguments")
_SANDBOX = Signature("provider", "container", "code", "api_key")
_EPHEMERAL = Signature("provider", "code", "template", "timeout", "api_key", "api_base")
_SKILL = Signature("code", "skill_files", "requirements")


def _named(_instance: Any, _args: Args, _kwargs: Kwargs) -> str:
    """All code goes by the name that LiteLLM tells models."""
    return "litellm_code_execution"


def _code(_instance: Any, args: Args, kwargs: Kwargs) -> Any:
    return decoded(_RUN.given(args, kwargs, "arguments") or "{}")


def _code_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    given = _code(instance, args, kwargs)
    return [in_order({"code": given.get("code", "")}) if isinstance(given, dict) else None]


def _text(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


#: What the interpreter that stands in for OpenAI's runs.
CODE = Functions(
    layer=_LAYER,
    name=_named,
    arguments=_code,
    with_arguments=lambda _instance, args, kwargs, given: _RUN.having(args, kwargs, arguments=json.dumps(given)),
    output=lambda result: getattr(result, "output", result),
    answer=_text,
    rejected=_text,
    nesting=Nesting(role="framework", carries=_code_carries),
).adapter()


def _executed(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """What a sandbox returns."""
    from litellm.llms.base_llm.sandbox.transformation import CodeExecutionResult

    if isinstance(value, CodeExecutionResult):
        return value
    return CodeExecutionResult(stdout=value if isinstance(value, str) else json.dumps(value))


def _sandboxed(signature: Signature) -> Any:
    """A function of the sandbox's, called by the application or from inside of the interpreter."""

    def given(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
        return {"code": signature.given(args, kwargs, "code")}

    return Functions(
        layer=_LAYER,
        name=_named,
        arguments=given,
        with_arguments=lambda _instance, args, kwargs, given: signature.having(args, kwargs, **given),
        output=lambda result: getattr(result, "stdout", result),
        answer=_executed,
        nesting=Nesting(role="relay", carries=lambda instance, args, kwargs: [in_order(given(instance, args, kwargs))]),
    ).adapter()


SANDBOX = _sandboxed(_SANDBOX)
EPHEMERAL = _sandboxed(_EPHEMERAL)


def _of_skill(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> dict[str, Any]:
    """What the sandbox of skills returns."""
    if isinstance(value, dict) and "output" in value:
        return cast("dict[str, Any]", value)
    said = value if isinstance(value, str) else json.dumps(value)
    return {"success": True, "output": said, "error": "", "files": []}


SKILL = Functions(
    layer=_LAYER,
    name=_named,
    arguments=lambda _instance, args, kwargs: {"code": _SKILL.given(args, kwargs, "code")},
    with_arguments=lambda _instance, args, kwargs, given: _SKILL.having(args, kwargs, **given),
    output=lambda result: result.get("output"),
    answer=_of_skill,
    rejected=lambda instance, args, kwargs, reason: {**_of_skill(instance, args, kwargs, reason), "success": False},
).adapter()
