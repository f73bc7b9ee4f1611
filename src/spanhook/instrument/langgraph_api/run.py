"""How a run of LangGraph's API server reads, when it is asked for and when it is executed."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import uuid5

from langgraph_api.graph import GRAPHS, NAMESPACE_GRAPH
from langgraph_api.utils import get_auth_ctx, get_user_id
from starlette.exceptions import HTTPException

from spanhook.instrument.identities import as_id
from spanhook.instrument.layers import LANGGRAPH_API
from spanhook.instrument.served import ServedRun, served_by
from spanhook.instrument.starlette.requests import refusal
from spanhook.model import KeptAdmissions, RunFacts

RUN = served_by(LANGGRAPH_API, lambda reject: refusal(reject, HTTPException))
ADMISSIONS = KeptAdmissions()
"""Kept in this process: the server that is free of charge executes its runs itself, others ask again."""


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def graph_of(assistant_id: str, conn: Any) -> str:
    """The graph of an assistant, which is asked for by its id or by the name of a graph; empty if unknown."""
    if assistant_id in GRAPHS:
        return assistant_id
    for name in GRAPHS:
        if str(uuid5(NAMESPACE_GRAPH, name)) == assistant_id:
            return name
    store = getattr(conn, "store", None)
    known = store.get("assistants", ()) if isinstance(store, dict) else ()
    found = (one["graph_id"] for one in known if str(one.get("assistant_id")) == assistant_id)
    return str(next(found, ""))


def asked(run_id: str, thread_id: Any, payload: Mapping[str, Any], conn: Any) -> ServedRun:
    """The run that a request, or a cron, asks for."""
    context = get_auth_ctx()
    user = None if context is None else context.user
    assistant = as_id(payload.get("assistant_id"))
    config = {**_mapping(payload.get("config"))}
    if payload.get("context"):
        config["configurable"] = {**_mapping(config.get("configurable")), **_mapping(payload["context"])}
    config["metadata"] = {**_mapping(config.get("metadata")), **_mapping(payload.get("metadata"))}
    facts = RunFacts(as_id(thread_id), assistant, graph_of(assistant, conn), user or None, config)
    command = payload.get("command")
    return ServedRun(run_id, get_user_id(user) or "", facts, command or payload.get("input"))


def stored(run: Mapping[str, Any]) -> ServedRun:
    """The run that a worker executes."""
    given = run["kwargs"]
    config = _mapping(given.get("config"))
    configurable = _mapping(config.get("configurable"))
    user = configurable.get("langgraph_auth_user")
    graph = as_id(configurable.get("graph_id"))
    facts = RunFacts(as_id(run.get("thread_id")), as_id(run.get("assistant_id")), graph, user or None, config)
    whose = as_id(configurable.get("langgraph_auth_user_id"))
    return ServedRun(as_id(run["run_id"]), whose, facts, given.get("command") or given.get("input"))
