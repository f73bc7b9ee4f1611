"""An application that works at a steady pace until its standard input ends; it knows nothing of telemetry.

It says of each run, on standard output, a line of JSON: when it ended, how long it took and whether a tool was refused.
"""

import json
import select
import sys
import time

from spanhook.cli.demo import agent

PACE_SECONDS = 0.05


def main() -> None:
    """Make runs, one after the other."""
    desk = agent.make(live=False)
    number = 0
    while not select.select([sys.stdin], [], [], PACE_SECONDS)[0]:
        number += 1
        started = time.monotonic()
        answer = desk.invoke({"messages": [("user", agent.ORDER)]}, {"configurable": {"thread_id": str(number)}})
        seconds = time.monotonic() - started
        refused = any(getattr(one, "status", "") == "error" for one in answer["messages"])
        print(json.dumps({"at": time.time(), "seconds": seconds, "refused": refused}), flush=True)


if __name__ == "__main__":
    main()
