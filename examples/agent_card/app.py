"""An agent described by a card: its resources are opened when it starts and closed when it shuts down, clones included.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
python app.py "Where is order 1001?" "When do you open?"
"""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import spanhook
from spanhook.cards import AgentCard, AgentScope, agent_scope, load_card


@dataclass
class Desk:
    card: AgentCard
    client: Any = None

    @spanhook.agent("desk")
    async def ask(self, question: str) -> str:
        messages: list[Any] = [
            {"role": "system", "content": self.card.instruction},
            {"role": "user", "content": question},
        ]
        reply = await self.client.chat.completions.create(model=self.card.fields["model"], messages=messages)
        return reply.choices[0].message.content


async def answer(scope: AgentScope, question: str) -> str:
    """Each question gets its own clone, which shuts down after the answer."""
    async with scope.clone(name="desk[question]") as clone:
        return await clone.agent.ask(question)


async def main(questions: list[str]) -> None:
    card = load_card(Path(__file__).with_name("desk.md"))
    async with agent_scope(card, agent=Desk(card)) as scope:
        for answered in await asyncio.gather(*(answer(scope, question) for question in questions)):
            print(answered)


if __name__ == "__main__":
    spanhook.instrument()
    asyncio.run(main(sys.argv[1:]))
