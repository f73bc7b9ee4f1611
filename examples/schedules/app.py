"""An agent that runs by the clock, on the application's own event loop; the first run ends it.

pip install "spanhook[examples]"
python app.py
"""

import asyncio

import spanhook
from spanhook import Event, Hooks, Operation, Reject

hooks = Hooks()


@hooks.before("cron.execute")
def only_sales(op: Operation) -> None:
    if op.request.inputs != {"topic": "sales"}:
        raise Reject("There are reports about sales only")


async def main() -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    @hooks.on("cron:executed")
    def tell(event: Event) -> None:
        print(f"{event.cron_id}: {event.agent_name} said {event.output!r}")
        loop.call_soon_threadsafe(over.set)

    spanhook.instrument(hooks)
    async with spanhook.scheduler():
        await over.wait()


if __name__ == "__main__":
    asyncio.run(main())
