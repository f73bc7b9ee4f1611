"""The functions that a card names: found from the card, loaded when the agent starts, and what is no such function."""

import threading

import pytest

from spanhook.cards import AgentCard, AgentConfigError, agent_scope, load_card
from tests.commands import Folder


def loading(folder: Folder, **hooks: str) -> AgentCard:
    return AgentCard(name="desk", lifecycle_hooks=hooks, path=folder.path / "desk.md")


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("start = 3", "'hooks.py:start' is 3; expected a function"),
        ("class start: ...", "is a class"),
        ("def start(ctx): yield", "is a generator"),
        ("async def start(ctx): yield", "is a generator"),
        ("def start(): ...", "cannot be called with a context: too many positional arguments"),
        ("def start(ctx, more): ...", "cannot be called with a context: missing a required argument: 'more'"),
        ("other = 3", "has no 'start'; correct the name"),
        ("import nowhere", "cannot be imported: No module named 'nowhere'"),
        ("start = (", "cannot be read"),
        ("raise SystemExit(1)", "failed to load: SystemExit: 1"),
    ],
)
def test_what_is_no_function_keeps_the_agent_from_starting(folder: Folder, source: str, said: str) -> None:
    folder.write(hooks=source)
    with pytest.raises(AgentConfigError, match=said) as caught, agent_scope(loading(folder, on_start="hooks.py:start")):
        raise AssertionError("it started")
    assert str(caught.value).startswith("agent 'desk': on_start")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(folder: Folder) -> None:
    with pytest.raises(AgentConfigError, match=r"the file .*nowhere\.py does not exist; correct the path"):
        agent_scope(loading(folder, on_start="nowhere.py:start")).__enter__()


def test_a_shutdown_hook_that_cannot_be_loaded_keeps_the_agent_from_starting(folder: Folder) -> None:
    folder.write(hooks="def start(ctx): raise AssertionError('it started')")
    card = loading(folder, on_start="hooks.py:start", on_shutdown="hooks.py:stop")
    with pytest.raises(AgentConfigError, match=r"on_shutdown: .* has no 'stop'"):
        agent_scope(card).__enter__()


@pytest.mark.parametrize(
    "source",
    [
        "import functools\nstart = functools.partial(lambda said, ctx: seen.append(ctx), 'x')",
        "class Start:\n  def __call__(self, ctx): seen.append(ctx)\nstart = Start()",
        "class Start:\n  async def __call__(self, ctx): seen.append(ctx)\nstart = Start()",
        "class Start:\n  def go(self, ctx): seen.append(ctx)\nstart = Start().go",
        "start = seen.append",
        "def start(ctx, more=3): seen.append(ctx)",
    ],
)
def test_whatever_can_be_called_with_a_context_is_one(folder: Folder, source: str) -> None:
    folder.write(hooks=f"seen = []\n{source}")
    with agent_scope(loading(folder, on_start="hooks.py:start")) as scope:
        assert scope._hooks.on_start is not None


def test_two_cards_have_files_of_the_same_name(folder: Folder) -> None:
    for name in ("a", "b"):
        folder.file(f"{name}/hooks.py", f"def start(ctx): ctx.context.append({name!r})")
        folder.file(f"{name}/card.yaml", "lifecycle_hooks: {on_start: 'hooks.py:start'}")
    seen: list[str] = []
    for name in ("a", "b", "a"):
        with agent_scope(load_card(folder.path / name / "card.yaml"), context=seen):
            pass
    assert seen == ["a", "b", "a"]


def test_a_module_is_named_by_its_name(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder.path)
    folder.write(lifecycle_of_desks="seen = []\ndef start(ctx): seen.append(ctx.agent_name)")
    with agent_scope(loading(folder, on_start="lifecycle_of_desks:start")):
        import lifecycle_of_desks  # pyright: ignore[reportMissingImports]

        assert lifecycle_of_desks.seen == ["desk"]
    monkeypatch.delitem(__import__("sys").modules, "lifecycle_of_desks")


def test_threads_that_load_a_file_at_the_same_time_get_all_of_it(folder: Folder) -> None:
    folder.write(hooks="import threading\nthreading.Event().wait(0.05)\ndef start(ctx): ctx.context.append(ctx.agent)")
    seen: list[object] = []
    failed: list[BaseException] = []
    together = threading.Barrier(8)

    def live() -> None:
        together.wait()
        try:
            with agent_scope(loading(folder, on_start="hooks.py:start"), context=seen):
                pass
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=live) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len({id(one) for one in seen}) == 8
