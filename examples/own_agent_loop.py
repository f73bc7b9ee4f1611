"""A hand-written agent loop over the OpenAI SDK: its tools and runs are gated, traced and counted.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
python own_agent_loop.py "Refund order 1001, and close the account"
"""

import json
import sys
from typing import Any

from openai import OpenAI

import spanhook
from spanhook import Hooks, Operation, Reject

hooks = Hooks()
client: OpenAI


@hooks.before("tool.execute", names={"close_account"})
def ask_a_person(op: Operation) -> None:
    raise Reject("Only a person closes accounts")


@hooks.before("tool.execute", names={"refund"})
def at_most(op: Operation) -> None:
    if op.request.arguments["amount"] > 50:
        op.replace(arguments={**op.request.arguments, "amount": 50})


@hooks.before("llm.call")
def few_turns(op: Operation) -> None:
    if op.root.usage.llm_calls >= 5:
        raise Reject("More than 5 turns", scope="run")  # the loop cannot go on, whatever it catches


@hooks.after("agent.invoke")
def report(op: Operation) -> None:
    used = op.usage
    print(f"{op.name}: {used.total_tokens} tokens in {used.llm_calls} model calls, tools: {dict(used.tools)}")


@spanhook.tool
def refund(order: int, amount: int) -> str:
    """Pay money back."""
    return f"{amount} dollars paid back for order {order}"


@spanhook.tool
def close_account() -> str:
    """Close the customer's account."""
    return "closed"


TOOLS: dict[str, Any] = {"refund": refund, "close_account": close_account}
NUMBER = {"type": "integer"}
OFFERED: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "refund",
            "description": "Pay money back.",
            "parameters": {"type": "object", "properties": {"order": NUMBER, "amount": NUMBER}},
        },
    },
    {"type": "function", "function": {"name": "close_account", "description": "Close the customer's account."}},
]


def use(call: Any) -> str:
    """The tool's result; a refusal is an ordinary exception, whose message goes to the model."""
    try:
        return TOOLS[call.function.name](**json.loads(call.function.arguments))
    except Reject as refusal:
        return f"Refused: {refusal.reason}"


@spanhook.agent("desk")
def answer(question: str) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        reply = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=OFFERED)
        said = reply.choices[0].message
        if not said.tool_calls:
            return said.content or ""
        messages.append(said)
        messages += [{"role": "tool", "tool_call_id": call.id, "content": use(call)} for call in said.tool_calls]


if __name__ == "__main__":
    spanhook.instrument(hooks)
    client = OpenAI()
    print(answer(sys.argv[1]))
