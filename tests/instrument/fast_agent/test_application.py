"""A whole application of fast-agent: the hooks of its card run as without spanhook, each as often and in that order."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio

TOOL_HOOKS = ("before_llm_call", "after_llm_call", "before_tool_call", "after_tool_call", "after_turn_complete")
CARD = f"""---
name: desk
type: agent
model: passthrough
function_tools:
  - tools.py:look_up
tool_hooks: {{{", ".join(f"{name}: 'hooks.py:{name}'" for name in TOOL_HOOKS)}}}
lifecycle_hooks:
  on_start: hooks.py:life
  on_shutdown: hooks.py:life
---
Be brief.
"""
CARD_HOOKS = """
from pathlib import Path

def note(what):
    with Path(__file__).with_name("marks").open("a") as marks:
        marks.write(what + "\\n")

async def life(ctx):
    note(ctx.hook_type)
""" + "".join(f"\nasync def {name}(ctx):\n    note('{name}')\n" for name in TOOL_HOOKS)
TOOLS = """
def look_up(query: str) -> str:
    from hooks_seen import ran
    ran.append(query)
    return "found " + query
"""
ASK = '***CALL_TOOL look_up {"query": "tea"}'


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The calls of the card's tool."""
    (tmp_path / "hooks_seen.py").write_text("ran = []\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("hooks_seen").ran
    del sys.modules["hooks_seen"]


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    quiet = "logger: {type: none, progress_display: false, show_chat: false, show_tools: false}\n"
    (tmp_path / "fast-agent.yaml").write_text(quiet)
    folder = tmp_path / "cards"
    folder.mkdir()
    for name, text in (("desk.md", CARD), ("hooks.py", CARD_HOOKS), ("tools.py", TOOLS)):
        (folder / name).write_text(text)
    return folder


async def use(cards: Path) -> tuple[str, list[str]]:
    """What the application's agent says, and which hooks of its card have run."""
    application: Any = import_module("fast_agent").FastAgent("app", parse_cli_args=False, quiet=True)
    application.load_agents(cards)
    (cards / "marks").write_text("")
    async with application.run() as agents:
        said = await agents.desk.send(ASK)
    return said, (cards / "marks").read_text().split()


async def test_a_cards_hooks_run_as_without_spanhook(hooks: Hooks, cards: Path, ran: list[str]) -> None:
    alone = await use(cards)
    with recorder(hooks) as seen:
        assert await use(cards) == alone
    said, marks = alone
    assert said == "found tea"
    once = {name: marks.count(name) for name in ("on_start", "before_tool_call", "on_shutdown")}
    assert once == {"on_start": 1, "before_tool_call": 1, "on_shutdown": 1}
    assert ran == ["tea", "tea"]
    names = [span.name for span in sorted(seen.spans, key=lambda span: span.start_time or 0)]
    assert names == [
        "create_agent desk",
        "invoke_agent desk",
        "chat passthrough",
        "execute_tool look_up",
        "chat passthrough",
        "shutdown_agent desk",
    ]


async def test_a_cards_hooks_are_told_of_a_refused_tool(hooks: Hooks, cards: Path, ran: list[str]) -> None:
    @hooks.before("tool.execute")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    said, marks = await use(cards)
    assert said == "Tool call rejected: Not today"
    assert (marks.count("before_tool_call"), marks.count("after_tool_call")) == (1, 1)
    assert ran == []


async def test_an_agent_whose_start_is_refused_is_not_used(hooks: Hooks, cards: Path, ran: list[str]) -> None:
    @hooks.before("agent.lifecycle", when=lambda op: op.request.inputs["hook_type"] == "on_start")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    with pytest.raises(Reject, match="Not today"):
        await use(cards)
    assert "on_start" not in (cards / "marks").read_text()
    assert ran == []
