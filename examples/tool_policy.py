"""Tools allowed and denied by rules, in an agent of LangGraph. The same rules as a file: spanhook.yaml beside this one.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
python tool_policy.py "Refund 80 dollars for order 1001, 30 for order 1002, and close the account"
"""

import sys

from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

import spanhook
from spanhook import Hooks
from spanhook.hooks.tool_policy import ToolPolicy

POLICY = ToolPolicy(
    [
        {"allow": ["refund"], "tenants": ["acme"], "when": "arguments.amount <= 50"},
        {"deny": ["refund"], "reason": "Refunds over 50 need a person", "status_code": 402},
        {"allow": ["look_up_*"]},
    ],
    default="deny",
)


@tool
def refund(order: int, amount: float) -> str:
    """Pay money back for an order."""
    return f"{amount:g} dollars paid back for order {order}"


@tool
def close_account() -> str:
    """Close the customer's account."""
    return "closed"


def main(question: str) -> None:
    spanhook.instrument(Hooks(POLICY))
    agent = create_agent("openai:gpt-4o-mini", tools=[refund, close_account], name="desk")
    with spanhook.context(tenant_id="acme", user_id="ann"):
        state = agent.invoke({"messages": [{"role": "user", "content": question}]})
    for message in state["messages"]:
        if isinstance(message, ToolMessage):
            print(f"{message.name}: {message.content}")
    print(state["messages"][-1].text)


if __name__ == "__main__":
    main(sys.argv[1])
