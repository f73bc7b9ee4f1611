"""The transport between the SDK and the program, accompanied by a session that sees what passes.

The SDK reads through its ``Query`` alone, but writes prompts to the transport itself.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import wrapt

from spanhook.copies import Copied
from spanhook.diagnostics import log
from spanhook.instrument.claude_agent_sdk.sessions import Session

if TYPE_CHECKING:
    ObjectProxy = wrapt.ObjectProxy[Any]
else:
    ObjectProxy = wrapt.ObjectProxy  # not subscriptable in every version

_CONTROL = '{"type": "control_'
"""How the SDK's own messages to the program begin."""


class Writing:
    """Takes the place of a transport's method.

    Args:
        write: The method.
        session: What sees what is written.
    """

    def __init__(self, write: Callable[[str], Awaitable[None]], session: Session) -> None:
        self.write, self._session = write, session

    async def __call__(self, data: str) -> None:
        """Write to the program, unless it is a prompt that is refused or answered."""
        told = data if data.startswith(_CONTROL) else await self._prompted(data)
        if told is not None:
            await self.write(told)

    async def _prompted(self, data: str) -> str | None:
        said = json.loads(data)
        if not isinstance(said, dict) or said.get("type") != "user":
            return data
        told = await self._session.prompted(said)
        return data if told is said else None if told is None else json.dumps(told) + "\n"


class Accompanied(Copied, ObjectProxy):
    """What the SDK reads from in place of a transport.

    Args:
        transport: The transport, the SDK's or the application's.
        session: What sees its messages.
    """

    def __init__(self, transport: Any, session: Session) -> None:
        super().__init__(transport)
        self._self_session = session

    async def read_messages(self) -> AsyncIterator[Any]:
        """What the program says, and what a session says in its place."""
        session: Session = self._self_session
        ended: BaseException | None = None
        try:
            async for message in self.__wrapped__.read_messages():
                for told in await session.heard(message):
                    yield told
        except Exception as error:
            ended = error
            raise
        finally:
            session.leave(ended)

    async def close(self) -> None:
        """Close it; what is under way in the session has come to its end by then."""
        session: Session = self._self_session
        await session.over()
        await self.__wrapped__.close()


def accompanied(transport: Any, session: Session) -> Accompanied:
    """A transport whose messages a session sees from now on."""
    write = transport.write
    if isinstance(write, Writing):  # of a session before
        write = write.write
    session.write = write
    try:
        transport.write = Writing(write, session)
    except AttributeError:
        log.warning("spanhook: prompts are written to %r directly, and so are not gated", transport)
    return Accompanied(transport, session)
