"""Cards and the functions they name, in a folder of one test's own."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from spanhook.gating import loader
from tests.commands import Folder

CARD = """
---
name: desk
model: gpt-4o-mini
lifecycle_hooks:
  on_start: hooks.py:start_agent
  on_shutdown: hooks.py:stop_agent
---

Help with orders.
"""

HOOKS = """
from spanhook.cards import AgentLifecycleContext

seen: list[AgentLifecycleContext] = []

async def start_agent(ctx: AgentLifecycleContext) -> None:
    seen.append(ctx)

def stop_agent(ctx: AgentLifecycleContext) -> None:
    seen.append(ctx)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Folder]:
    """A folder with a card and its hooks, which nobody has loaded yet."""
    monkeypatch.setattr(loader._folders, "folders", [])
    before = set(sys.modules)
    made = Folder(tmp_path)
    made.file("desk.md", CARD)
    yield made.write(hooks=HOOKS)
    for name in set(sys.modules) - before:
        if name.startswith("spanhook_hooks_"):
            del sys.modules[name]
