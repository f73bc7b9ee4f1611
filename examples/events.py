"""What an agent does, as it happens: events of its runs, its tools and its model calls, and a sub-agent.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
python events.py
"""

import json

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

import spanhook
from spanhook import Event, Hooks

MODEL = ChatOpenAI(model="gpt-4o-mini")

# ---------------------------------------------------------------- every run

hooks = Hooks(level="summary")


@hooks.on("agent:end")
def finished(e: Event) -> None:
    print(f"{e.agent_name}: {e.usage.total_tokens} tokens, tools: {e.tools_used}")


@hooks.on("agent:error")
def alert(e: Event) -> None:
    print(f"{e.agent_name} failed: {e.error}")


# ---------------------------------------------------------------- for debugging: everything, in the order it happens

debug = Hooks(level="trace")


def trace(e: Event) -> None:
    if e.alias == "tool:execute":
        print(f"  [{e.agent_name}] {e.tool_name}({json.dumps(e.input)}) -> {e.output}")
    elif e.alias == "model:call":
        print(f"  [{e.agent_name}] LLM call: {e.model}, {e.prompt_tokens}+{e.completion_tokens} tokens")
    elif e.alias == "delegate:start":
        print(f"  [{e.parent_agent}] delegates to {e.child_agent}: {e.input}")


unsubscribe = debug.on("*", trace)


# ---------------------------------------------------------------- the agents, which do not know about the events

researcher = create_agent(MODEL, name="researcher")


@tool
def research(question: str) -> str:
    """Ask the researcher."""
    answer: str = researcher.invoke({"messages": [{"role": "user", "content": question}]})["messages"][-1].text
    return answer


desk = create_agent(MODEL, tools=[research], name="desk")


def main() -> None:
    spanhook.instrument([hooks, debug])
    desk.invoke({"messages": [{"role": "user", "content": "When does the library open?"}]})

    debug.flush()  # until then, the trace of this run may still be printed
    unsubscribe()
    desk.invoke({"messages": [{"role": "user", "content": "Thank you"}]})


if __name__ == "__main__":
    main()
