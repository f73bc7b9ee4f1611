"""A LangGraph agent that knows nothing of spanhook, gated by the command that starts it.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
spanhook run --console --hooks ./hooks.py:hooks app.py "I want my money back for order 1001"
"""

import sys

from langchain.agents import create_agent
from langchain_core.tools import tool


@tool
def search_orders(order: int) -> str:
    """Say what is known of an order."""
    return f"Order {order}: one lamp, 80 dollars, delivered"


@tool
def refund(order: int, amount: float) -> str:
    """Pay money back for an order."""
    return f"{amount:g} dollars paid back for order {order}"


def main(question: str) -> None:
    agent = create_agent(
        "openai:gpt-4o-mini",
        [search_orders, refund],
        system_prompt="You help the customers of a shop for lamps.",
        name="support-desk",
    )
    said = agent.invoke(
        {"messages": [{"role": "user", "content": question}]}, {"configurable": {"user_id": "ann", "thread_id": "1"}}
    )
    print(said["messages"][-1].text)


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "I want my money back for order 1001")
