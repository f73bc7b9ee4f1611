"""The hooks for the scripted runs: together they make every decision that a hook can make.

Hooks that do not test timeouts have no limit, or one that no machine is slow enough to reach: a stall must not turn an
``allow`` into a ``timeout``. Hooks whose chain has observers have no limit, so that a stall cannot use up the chain's
budget either.

The hooks in shadow mode would stop, change or fail calls that succeed, so a figure that counts one of their decisions
as enforced differs from the script.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from spanhook import Hooks, Operation, Reject
from spanhook.cli.load.catalogue import BUDGETED, HELD_BACK, RUN_BUDGET, UNREACHABLE
from spanhook.cli.load.models import judge
from spanhook.cli.load.policies import SILENT, URL
from spanhook.cli.load.scenarios import BROKE
from spanhook.cli.load.steps import CAREFUL
from spanhook.cli.load.tricks import ON_TRIAL
from spanhook.hooks.approval import Approval
from spanhook.hooks.budget import Budget
from spanhook.hooks.circuit_breaker import CircuitBreaker
from spanhook.hooks.injection_scan import InjectionScan
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.hooks.remote_policy import RemotePolicy

hooks = Hooks()

AMPLE = 60.0
AT_ONCE = 0.001
ALL_OF_THE_BUDGET = 0.51

# ----------------------------------------------------------------------------------------------- agents


@hooks.before("agent.invoke", tenant_id=CAREFUL, timeout=None)
def within_budget(op: Operation) -> None:
    if op.identity.user_id == BROKE[1]:
        raise Reject("the budget is spent", status_code=429)


@hooks.after("agent.invoke", timeout=None)
def billed(op: Operation) -> None:
    pass


@hooks.on_error("agent.invoke", timeout=None)
def alerted(op: Operation) -> None:
    pass


# ----------------------------------------------------------------------------------------------- models


@hooks.before("llm.call", models={"forbidden-1", "foreign-forbidden-1"}, timeout=None)
def not_allowed(op: Operation) -> None:
    raise Reject(f"{op.model} is not allowed")


@hooks.before("llm.call", models={"house-model-1"}, fail_mode="open", timeout=None)
def scored(_op: Operation) -> None:
    raise RuntimeError("the scorer is down")


@hooks.after("llm.call", models={"claude-sonnet-4-5"}, timeout=None)
def masked_answer(op: Operation) -> None:
    op.respond("***")


@hooks.around("llm.call", models={"o4-mini"}, timeout=None)
async def traced(_op: Operation, call_next: Callable[[], Awaitable[Any]]) -> None:
    await call_next()


class RunBudget(Budget):
    """Each run may use so many tokens of one model. It has a limit in US dollars too, which is never reached."""

    name = "run_budget"
    models = (BUDGETED,)
    timeout = None


hooks.add(RunBudget("run", tokens=RUN_BUDGET, usd=100, unpriced="count"))


@hooks.after("llm.call", models={HELD_BACK}, stream="buffer", timeout=None)
def proofread(op: Operation) -> None:
    pass


@hooks.before("llm.call", models={"foreign-model-1"}, timeout=None)
def screened(op: Operation) -> None:
    pass


@hooks.after("llm.call", models={"foreign-model-1"}, timeout=None)
def noticed(op: Operation) -> None:
    pass


class Line(CircuitBreaker):
    """Its circuit opens at the first failure, and everybody may try at once whether it is still so: nobody is refused.

    So what hooks decide does not depend on the order of runs.
    """

    name = "line"
    models = (UNREACHABLE,)
    timeout = None


hooks.add(Line(failures=1, open_for=1e-6, probes=1_000))

# ----------------------------------------------------------------------------------------------- knowledge and memory


class Scan(InjectionScan):
    """Documents may try to give instructions."""

    name = "scan"
    kinds = ("retrieval.query",)
    timeout = AMPLE


hooks.add(Scan(apply_to=["documents"]))


class Redaction(PIIRedaction):
    """What is remembered of customers has no personal data."""

    name = "redaction"
    timeout = AMPLE


hooks.add(Redaction(kinds=["memory.store"]))


class Consent(RemotePolicy):
    """A service is asked whether customers may be remembered, does not answer, and is not waited for."""

    name = "consent"
    fail_mode = "open"


consent = Consent("http", URL + SILENT, ["inputs"], kinds=["memory.store"], timeout=AT_ONCE, failures=None)
consent.timeout = AMPLE
hooks.add(consent)

# ----------------------------------------------------------------------------------------------- tools


@hooks.before("tool.execute", priority=10, timeout=AMPLE)
def audit(op: Operation) -> None:
    pass


@hooks.before("tool.execute", names={"refund"}, timeout=AMPLE)
def paying_customers_only(_op: Operation) -> None:
    raise Reject("an active subscription is required", status_code=402)


@hooks.before("tool.execute", names={"wire_money"}, timeout=AMPLE)
def stop_the_run(_op: Operation) -> None:
    raise Reject("no money leaves the house", scope="run")


@hooks.around("tool.execute", names={"search"}, timeout=AMPLE)
def cached(op: Operation) -> Generator[Any, Any, Any]:
    if op.request.arguments["about"] == "known":
        return "a result kept from before"
    yield
    return None


@hooks.before("tool.execute", names={"send_mail"}, timeout=AMPLE)
def masked(op: Operation) -> None:
    op.replace(arguments={"about": "***"})


@hooks.before("tool.execute", names={"fetch"}, blocking=True, timeout=AMPLE)
def scanned(op: Operation) -> None:
    pass


@hooks.before("tool.execute", names={"publish"}, timeout=AMPLE)
def judged(_op: Operation) -> None:
    judge()


@hooks.before("tool.execute", names={"look_up"}, fail_mode="open", timeout=AT_ONCE)
async def directory(_op: Operation) -> None:
    await asyncio.Event().wait()


@hooks.before("tool.execute", names={"charge"}, timeout=AT_ONCE)
async def fraud_check(_op: Operation) -> None:
    await asyncio.Event().wait()


@hooks.before("tool.execute", names={"rotate_key"}, timeout=AMPLE)
def vault(_op: Operation) -> None:
    raise RuntimeError("the vault is sealed")


class AskAPerson(Approval):
    """Somebody must agree before an account is closed."""

    name = "ask_a_person"
    names = ("close_account",)


hooks.add(AskAPerson(86_400, title="Close this account?"))


class Payments(RemotePolicy):
    """A service decides about transfers. Its circuit never opens, so what happens does not depend on the order."""

    name = "payments"
    names = ("transfer",)


hooks.add(Payments("http", URL, ["arguments"], timeout=AMPLE, retries=1, failures=None))


@hooks.before("tool.execute", names={"sign"}, timeout=AMPLE)
def reviewed(_op: Operation) -> None:
    time.sleep(ALL_OF_THE_BUDGET)


@hooks.after("tool.execute", names={"sign"}, timeout=AMPLE)
def archived(op: Operation) -> None:
    pass


@hooks.after("tool.execute", names={"read_file"}, priority=60, timeout=AMPLE)
def redacted(op: Operation) -> None:
    op.respond("***")


@hooks.after("tool.execute", names={"export"}, priority=60, timeout=AMPLE)
def withheld(_op: Operation) -> None:
    raise Reject("this data stays here")


def noted(op: Operation) -> None:
    pass


hooks.on("tool.execute.pre", noted, names={"sign"}, timeout=AMPLE)

# ----------------------------------------------------------------------------------------------- in shadow mode


@hooks.before("tool.execute", names={"search"}, tenant_id=ON_TRIAL, mode="shadow", timeout=AMPLE)
def members_only(_op: Operation) -> None:
    raise Reject("searches are for members", status_code=402, scope="run")


@hooks.before("tool.execute", names={"refund"}, mode="shadow", timeout=AMPLE)
def second_look(op: Operation) -> None:
    pass


@hooks.before("tool.execute", names={"publish"}, mode="shadow", timeout=AMPLE)
def house_style(op: Operation) -> None:
    op.replace(arguments={"about": "***"})


@hooks.before("tool.execute", names={"fetch"}, fail_mode="open", mode="shadow", timeout=AT_ONCE)
async def deep_scan(_op: Operation) -> None:
    await asyncio.Event().wait()


@hooks.before("tool.execute", names={"send_mail"}, fail_mode="open", mode="shadow", timeout=AMPLE)
def spam_filter(_op: Operation) -> None:
    raise RuntimeError("the filter is down")


@hooks.before("tool.execute", names={"read_file"}, mode="shadow", timeout=AMPLE)
def classified(_op: Operation) -> None:
    raise RuntimeError("the register is closed")


@hooks.after("tool.execute", names={"delegate"}, priority=60, mode="shadow", timeout=AMPLE)
def summarized(op: Operation) -> None:
    op.respond("***")


@hooks.before("llm.call", models={"house-model-1"}, mode="shadow", timeout=None)
def no_house_models(op: Operation) -> None:
    raise Reject(f"{op.model} is being replaced")


@hooks.before("llm.call", models={"foreign-model-1"}, mode="shadow", timeout=None)
def known_models_only(op: Operation) -> None:
    raise Reject(f"{op.model} is not known")
