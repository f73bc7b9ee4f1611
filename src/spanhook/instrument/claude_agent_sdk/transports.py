"""The transport between the SDK and the program, accompanied by a session that sees what passes."""

import json
from collections.abc import AsyncIterator
from typing import Any

import wrapt

from spanhook.instrument.claude_agent_sdk.sessions import Session

_CONTROL = '{"type": "control_'
"""How the SDK's own messages to the program begin."""


class Accompanied(wrapt.ObjectProxy):
    """Stands for a transport.

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

    async def write(self, data: str) -> None:
        """Write to the program, unless it is a prompt that is refused or answered."""
        session: Session = self._self_session
        told = data if data.startswith(_CONTROL) else await self._prompted(session, data)
        if told is not None:
            await self.__wrapped__.write(told)

    async def _prompted(self, session: Session, data: str) -> str | None:
        said = json.loads(data)
        if not isinstance(said, dict) or said.get("type") != "user":
            return data
        told = await session.prompted(said)
        return data if told is said else None if told is None else json.dumps(told) + "\n"

    async def close(self) -> None:
        """Close it; what is under way in the session has come to its end by then."""
        session: Session = self._self_session
        await session.over()
        await self.__wrapped__.close()
