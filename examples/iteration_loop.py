"""An agent's loop that remembers: each turn knows the results of earlier turns, and errors from other sessions.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
python iteration_loop.py session-1 "Plan a trip to Oslo"
"""

import sys

from openai import OpenAI

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.iterations import HookConfig, HookContext, HookEvent, IterationHooks, SQLiteFrames

gates = Hooks()
memory = IterationHooks(SQLiteFrames("frames.db"), HookConfig(context_frames=5))


@gates.before("iteration")
def few_turns(op: Operation) -> None:
    if op.request.inputs["iteration"] >= 4:
        raise Reject("More than 4 turns", status_code=429)


def report(context: HookContext) -> None:
    print(f"turn {context.iteration + 1}: {context.data['output']}")


memory.register_handler(HookEvent.ITERATION_END, report)


def work(client: OpenAI, session: str, task: str) -> None:
    """Take turns until the model says that it is done."""
    for n in range(10):
        with memory.iteration(session, n) as turn:
            known = "\n".join(frame.content for frame in turn.frames)
            turn.error_context = task
            reply = client.responses.create(model="gpt-4o-mini", instructions=f"You know:\n{known}", input=task)
            turn.output = reply.output_text
        if "DONE" in reply.output_text:
            break


if __name__ == "__main__":
    spanhook.instrument(gates)
    session, task = sys.argv[1:]
    try:
        work(OpenAI(max_retries=0), session, task)
    finally:
        ended = memory.on_completion(session, summary=task)
        done = memory.statistics(session)
        print(f"{done.iterations} turns, {done.failed} failed, {done.errors} errors")
