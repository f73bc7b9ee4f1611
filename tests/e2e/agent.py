"""An application to be started by ``spanhook run``: runs of an agent that take as long as they are told to.

Arguments are runs, side by side: a name, the seconds it takes, and the tool that it uses last, with colons between.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

from spanhook import Reject

CALLS = 12
"""Of the model in each run, evenly over its time."""


class State(TypedDict, total=False):
    said: str


def run(name: str, seconds: float, tool: str) -> None:
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.tools import StructuredTool
    from langgraph.graph import START, StateGraph

    model = FakeListChatModel(responses=["go on"])
    used = StructuredTool.from_function(lambda: "done", name=tool, description="The last step.")

    def work(state: State) -> State:
        for _ in range(CALLS):
            model.invoke("what now?")
            time.sleep(seconds / CALLS)
        return {"said": used.invoke({})}

    graph = StateGraph(State).add_node("work", work).add_edge(START, "work").compile(name=name)
    try:
        graph.invoke({})
    except Reject as error:
        print(name, error)


if __name__ == "__main__":
    runs = [one.split(":") for one in sys.argv[1:]]
    with ThreadPoolExecutor(len(runs)) as pool:
        for done in [pool.submit(run, name, float(seconds), tool) for name, seconds, tool in runs]:
            done.result()
