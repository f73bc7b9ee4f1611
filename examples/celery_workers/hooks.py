"""Restrict who may call models, and log each model call in the worker."""

import logging
import os

from spanhook import Hooks, Operation, Reject

hooks = Hooks()
CUSTOMERS = {"ann", "bob"}
log = logging.getLogger(__name__)


@hooks.before("llm.call")
def customers_only(op: Operation) -> None:
    if op.identity.user_id not in CUSTOMERS:
        raise Reject("Customers only", status_code=401)


@hooks.after("llm.call")
def say(op: Operation) -> None:
    log.warning("%s used %s tokens in process %s", op.identity.user_id, op.usage.total_tokens, os.getpid())
