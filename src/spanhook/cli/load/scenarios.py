"""The scripted runs: what an agent does, one function per scenario, and how often each occurs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from spanhook.cli.load.catalogue import BUDGETED, HELD_BACK, RUN_BUDGET, UNREACHABLE
from spanhook.cli.load.draw import Draw
from spanhook.cli.load.facts import REJECT, Fact, Tokens
from spanhook.cli.load.steps import CAREFUL, Ask, Foreign, HandOff, How, Recall, Step, Use, agent_fact
from spanhook.cli.load.tricks import Ending

AGENTS = ("support", "planner", "analyst")
CUSTOMERS = (
    *(("acme", user) for user in ("ann", "bob", "cyd")),
    *(("globex", user) for user in ("gus", "gil")),
    (CAREFUL, "ida"),
)
"""Tenants and their users. One more user has spent the budget; see ``over_budget``."""
BROKE = (CAREFUL, "ivan")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an agent.

    Attributes:
        agent, tenant, user: The agent, and on whose behalf it runs.
        steps: What it does, as far as it gets.
        ending: Its status and ``error.type``.
        is_async: Whether it is awaited.
        closed: Whether its stream is closed after the first chunk.
        thread: Its conversation, if that must be remembered.
        answer: The answer with which it resumes that interrupted conversation.
        refused: Whether a hook refuses the agent itself.
    """

    agent: str
    tenant: str
    user: str
    steps: tuple[Step, ...]
    ending: Ending = ("success", "")
    is_async: bool = False
    closed: bool = False
    thread: str = ""
    answer: Literal["", "approve", "deny"] = ""
    refused: bool = False

    @property
    def fact(self) -> Fact:
        """The operations that it must produce."""
        inside = tuple(fact for step in self.steps for fact in step.facts(self.agent, self.tenant))
        return agent_fact(self.agent, self.tenant, self.ending, inside, refused=self.refused)


Job = tuple[Run, ...]
"""Runs that must be made one after the other."""
Scenario = Callable[[Draw], Job]


def tokens(draw: Draw, model: str = "") -> Tokens:
    """Tokens as the model would report them."""
    return Tokens(
        input=draw.between(200, 4000),
        cache_read=draw.between(0, 3) * 512 if model != "house-model-1" else 0,
        cache_write=draw.between(0, 2) * 256 if model == "claude-sonnet-4-5" else 0,
        output=draw.between(10, 600),
        reasoning=draw.between(1, 8) * 64 if model == "o4-mini" else 0,
    )


def ask(draw: Draw, how: How = "answer", model: str = "") -> Ask:
    """A call to one of the models that can answer in every way."""
    model = model or draw.one_of(("gpt-4o-mini", "gpt-4o-mini", "claude-sonnet-4-5"))
    return Ask(model, tokens(draw, model), how)


def run(draw: Draw, *steps: Step, is_async: bool | None = None) -> Run:
    """A run of these steps, which ends as the last of them says."""
    tenant, user = draw.one_of(CUSTOMERS)
    ending = steps[-1].ending or ("success", "")
    is_async = draw.below(2) == 1 if is_async is None else is_async
    return Run(draw.one_of(AGENTS), tenant, user, steps, ending, is_async)


def _used(trick: str) -> Scenario:
    """A run that uses a tool and continues, whatever the result."""
    return lambda draw: (run(draw, ask(draw), Use(trick), ask(draw)),)


def answered(draw: Draw) -> Job:
    """Model calls with a tool call in between."""
    return (run(draw, ask(draw), Use("search"), *(ask(draw) for _ in range(draw.between(1, 3)))),)


def reasoned(draw: Draw) -> Job:
    return (run(draw, ask(draw, model="o4-mini")),)


def unpriced(draw: Draw) -> Job:
    return (run(draw, ask(draw, model="house-model-1")),)


def streamed(draw: Draw) -> Job:
    return (run(draw, ask(draw, "stream"), ask(draw, "stream", "claude-sonnet-4-5")),)


def stopped_reading(draw: Draw) -> Job:
    """A model's stream is closed early; the run itself continues."""
    return (run(draw, ask(draw, "stop"), ask(draw)),)


def abandoned(draw: Draw) -> Job:
    """The run's own stream is closed early."""
    return (replace(run(draw, ask(draw)), closed=True, ending=("abandoned", "")),)


def fell_back(draw: Draw) -> Job:
    """One model fails, and another is called."""
    other = ask(draw, model="claude-sonnet-4-5")
    return (run(draw, replace(ask(draw, "fail", "gpt-4o-mini"), otherwise=other)),)


def failed(draw: Draw) -> Job:
    return (run(draw, ask(draw), ask(draw, "fail")),)


def broke_off(draw: Draw) -> Job:
    """A stream fails in the middle."""
    return (run(draw, ask(draw, "break")),)


def tool_failed(draw: Draw) -> Job:
    return (run(draw, ask(draw), Use("break")),)


def model_refused(draw: Draw) -> Job:
    return (run(draw, ask(draw), ask(draw, model="forbidden-1")),)


def over_budget(draw: Draw) -> Job:
    """The agent itself is refused, before it does anything."""
    made = run(draw, ask(draw))
    tenant, user = BROKE
    return (replace(made, tenant=tenant, user=user, steps=(), ending=("rejected", REJECT), refused=True),)


def within_budget(draw: Draw) -> Job:
    """A call that the run's budget suffices for."""
    return (run(draw, ask(draw, model=BUDGETED)),)


def overspent(draw: Draw) -> Job:
    """A call uses more than was reserved for it, so that nothing of the run's budget is left for another."""
    reported = replace(tokens(draw), input=draw.between(RUN_BUDGET, RUN_BUDGET * 3 // 2))
    return (run(draw, Ask(BUDGETED, reported), ask(draw, "refuse", BUDGETED)),)


def stopped(draw: Draw) -> Job:
    """A tool call is refused, and the whole run with it."""
    return (run(draw, ask(draw), Use("wire")),)


def cancelled(draw: Draw) -> Job:
    return (run(draw, ask(draw), ask(draw, "hang"), is_async=True),)


def approved(draw: Draw) -> Job:
    """A hook waits for a person: one run is interrupted, and another resumes with the answer."""
    first = replace(run(draw, Use("close")), thread=f"approval-{draw.place}")
    again = replace(first, steps=(Use("close, agreed"), ask(draw)), ending=("success", ""), answer="approve")
    return (first, again)


def denied(draw: Draw) -> Job:
    """The same, but the answer is no; the run continues without that tool."""
    first = replace(run(draw, Use("close")), thread=f"denial-{draw.place}")
    again = replace(first, steps=(Use("close, denied"), ask(draw)), ending=("success", ""), answer="deny")
    return (first, again)


def unanswered(draw: Draw) -> Job:
    """A hook waits for a person, who never answers."""
    return (replace(run(draw, ask(draw), Use("close")), thread=f"unanswered-{draw.place}"),)


def delegated(draw: Draw) -> Job:
    """A tool runs another agent."""
    return (run(draw, ask(draw), Use("delegate", ask(draw)), ask(draw)),)


def recalled(draw: Draw) -> Job:
    return (run(draw, Recall(), ask(draw)),)


def handed_off(draw: Draw) -> Job:
    """The agent passes its work on."""
    return (run(draw, ask(draw), HandOff(draw.one_of(("billing", "shipping")))),)


def held_back(draw: Draw) -> Job:
    """A hook sees the whole stream before its reader does."""
    return (run(draw, ask(draw, "stream", HELD_BACK)),)


def line_down(draw: Draw) -> Job:
    """A model keeps failing."""
    return (run(draw, ask(draw), ask(draw, "fail", UNREACHABLE)),)


def foreign(draw: Draw) -> Job:
    """A model is called through another instrumentation."""
    return (run(draw, Foreign(tokens(draw)), ask(draw)),)


def foreign_refused(draw: Draw) -> Job:
    return (run(draw, ask(draw), Foreign(tokens(draw), refused=True)),)


def signed(draw: Draw) -> Job:
    """A hook uses up the budget of the whole chain in real time, so this scenario is rare."""
    return (run(draw, ask(draw), Use("sign"), is_async=False),)


WEIGHTS: Mapping[Scenario, float] = {
    answered: 24,
    streamed: 10,
    reasoned: 5,
    unpriced: 4,
    delegated: 4,
    recalled: 4,
    abandoned: 3,
    stopped_reading: 3,
    fell_back: 3,
    failed: 3,
    broke_off: 2,
    tool_failed: 3,
    model_refused: 2,
    over_budget: 3,
    within_budget: 4,
    overspent: 2,
    stopped: 2,
    cancelled: 3,
    approved: 2,
    denied: 1,
    unanswered: 1,
    handed_off: 3,
    held_back: 3,
    line_down: 1,
    foreign: 2,
    foreign_refused: 1,
    signed: 0.05,
    **{
        _used(trick): weight
        for trick, weight in {
            "refund": 4,
            "search again": 3,
            "mail": 3,
            "read": 2,
            "export": 1,
            "fetch": 1,
            "publish": 2,
            "look up": 2,
            "charge": 1,
            "rotate": 1,
            "pay": 3,
            "pay too much": 1,
            "pay at night": 1,
        }.items()
    },
}
FOREIGN = (foreign, foreign_refused)
"""Scenarios that need an SDK with which other instrumentations can open spans."""


def script(runs: int, seed: int, *, with_foreign: bool = True) -> Iterator[Job]:
    """Jobs with exactly ``runs`` runs. If there are enough, every scenario occurs once before any is repeated."""
    known = {scenario: weight for scenario, weight in WEIGHTS.items() if with_foreign or scenario not in FOREIGN}
    first = Draw(seed, "order").shuffled(list(known))
    made = number = 0
    while made < runs:
        draw = Draw(seed, number)
        scenario = first[number] if number < len(first) else draw.weighted(known)
        job = scenario(draw)
        if len(job) > runs - made:
            job = answered(draw)
        yield job
        made += len(job)
        number += 1
