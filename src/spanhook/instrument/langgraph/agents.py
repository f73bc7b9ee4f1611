"""An agent's name and its run's identity: from the graph, its ``RunnableConfig`` and its ``context=``."""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config

from spanhook.instrument.identities import as_id, first_id
from spanhook.instrument.langchain_core.handoffs import UNNAMED, explicit_name
from spanhook.model import Args, Kwargs, current_record, exact_text

_NOTHING: Mapping[str, Any] = {}


def agent_name(instance: Any, args: Args, kwargs: Kwargs) -> str:
    """The name that the graph was given, else the name of the tool or node it runs in, else the server's name for
    it.
    """
    return (
        explicit_name(instance)
        or exact_text((instance.config or _NOTHING).get("run_name"))
        or _tool_around()
        or _node_around(args, kwargs)
        or _served_as(instance, args, kwargs)
        or UNNAMED
    )


def agent_id(instance: Any, args: Args, kwargs: Kwargs) -> str:
    """The id of the server's assistant; empty outside a server."""
    return as_id(configurable(instance, args, kwargs).get("assistant_id"))


def _tool_around() -> str:
    around = current_record()
    return around.name if around is not None and around.kind == "tool.execute" else ""


def _node_around(args: Args, kwargs: Kwargs) -> str:
    """The node that contains or calls the graph."""
    for config in (_config(args, kwargs), var_child_runnable_config.get()):
        node = ((config or _NOTHING).get("metadata") or _NOTHING).get("langgraph_node")
        if node:
            return exact_text(node)
    return ""


def _served_as(instance: Any, args: Args, kwargs: Kwargs) -> str:
    return as_id(
        configurable(instance, args, kwargs).get("graph_id") or metadata(instance, args, kwargs).get("graph_id")
    )


# ----------------------------------------------------------------------------------------------- configuration


def _config(args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    config = args[1] if len(args) > 1 else kwargs.get("config")
    return config if config is not None else _NOTHING


def configurable(instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    """The run's ``configurable`` values: from the graph, then from the call."""
    given = _config(args, kwargs).get("configurable")
    bound = (instance.config or _NOTHING).get("configurable")
    if not bound:
        return given or _NOTHING
    return {**bound, **(given or _NOTHING)}


def metadata(instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    """The metadata of the ``RunnableConfig``."""
    bound = (instance.config or _NOTHING).get("metadata")
    return {**(bound or _NOTHING), **(_config(args, kwargs).get("metadata") or _NOTHING)}


def config(instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    """The configuration of the run: the graph's own, then the call's."""
    given, bound = _config(args, kwargs), instance.config or _NOTHING
    merged = {**bound, **given}
    for name, found in (("configurable", configurable), ("metadata", metadata)):
        if name in merged:
            merged[name] = dict(found(instance, args, kwargs))
    return merged


# ----------------------------------------------------------------------------------------------- identity

_IDS = frozenset(
    ("thread_id", "session_id", "user_id", "user", "tenant_id", "langgraph_auth_user_id", "langgraph_auth_user")
)
"""Where to look for ids; most runs have none."""


def graph_identity(instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User, tenant, session and run.

    The user that a LangGraph server authenticated comes first; then what is configured, the context, and the metadata.
    """
    context = kwargs.get("context")
    if context is None and len(args) < 2 and not kwargs.get("config") and not instance.config:
        return {}
    configured = configurable(instance, args, kwargs)
    given = (configured, context, metadata(instance, args, kwargs))
    sources = [one for one in given if one is not None and not (type(one) is dict and _IDS.isdisjoint(one))]
    found = {"run_id": as_id(_config(args, kwargs).get("run_id")) or as_id(configured.get("run_id"))}
    if sources:
        found["session_id"] = first_id(sources, "thread_id", "session_id")
        found["user_id"] = _authenticated(configured) or first_id(sources, "user_id", "user.identity")
        found["tenant_id"] = first_id(sources, "tenant_id")
    return {name: value for name, value in found.items() if value}


def _authenticated(configured: Mapping[str, Any]) -> str:
    return first_id([configured], "langgraph_auth_user_id", "langgraph_auth_user.identity")
