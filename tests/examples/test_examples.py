"""Every example runs as its first lines say, on a provider on loopback; nothing in an example is changed for it."""

import ast
import http.client
import importlib
import json
import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply
from spanhook.gating import find, make
from spanhook.hooks.tool_policy import ToolPolicy
from spanhook.schedules import CronState
from spanhook.store import SQLiteStates
from tests.commands import Folder
from tests.ports import free_port

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
PROGRAMS = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
"""A path on which the programs of this very environment come first."""


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A copy of the examples, as somebody takes them away."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return Folder(tmp_path)


def reaching(server: OpenAIServer, **more: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test", "COLUMNS": "100", "PATH": PROGRAMS, **more}


def command(file: Path, program: str) -> list[str]:
    """The command line in a file's first lines that starts with ``program``."""
    documented = ast.get_docstring(ast.parse(file.read_text())) or ""
    (line,) = (line for line in documented.splitlines() if line.startswith(f"{program} "))
    return shlex.split(line, comments=True)


@pytest.mark.slow
def test_langgraph_without_a_change_to_the_application(openai: OpenAIServer, folder: Folder) -> None:
    openai.script(Reply(calls=(Call("refund", {"order": 1001, "amount": 80}),)), "Here are 50 dollars.")
    here = Folder(folder.path / "langgraph_zero_code")
    done = here.run(*command(here.path / "app.py", "spanhook"), **reaching(openai))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ann used 56 tokens in 2 model calls\nHere are 50 dollars.\n"
    assert "modify · at_most" in done.stderr
    assert openai.requests[1].body["messages"][-1]["content"] == "50 dollars paid back for order 1001"


@pytest.mark.slow
def test_hooks_under_test(folder: Folder) -> None:
    here = Folder(folder.path / "langgraph_zero_code")
    done = here.run("pytest", PATH=PROGRAMS)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


@pytest.mark.slow
def test_openai_in_code(openai: OpenAIServer, folder: Folder) -> None:
    done = folder.run(*command(folder.path / "openai_in_code.py", "python"), **reaching(openai))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "whole: hello there friend",
        "streamed: hello there friend",
        "rejected: All 50 tokens are spent (429)",
    ]
    assert len(openai.requests) == 2
    assert "ann@example.com" not in str([request.body for request in openai.requests])


@pytest.fixture
def anthropic() -> Iterator[AnthropicServer]:
    with AnthropicServer() as server:
        yield server


@pytest.mark.slow
def test_anthropic_with_gates(anthropic: AnthropicServer, folder: Folder) -> None:
    anthropic.script("Thank you.", "Thank you very much.", "Project Falcon flies in May.")
    added = {"ANTHROPIC_BASE_URL": anthropic.url, "ANTHROPIC_API_KEY": "test", "PATH": PROGRAMS}
    done = folder.run(*command(folder.path / "anthropic_gate.py", "python"), **added)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "small: Thank you.",
        "large: Thank you very much.",
        "streamed: I cannot talk about that.",
        "rejected: Card numbers stay here (422)",
    ]
    assert [one.body["model"] for one in anthropic.requests] == [
        "claude-haiku-4-5",
        "claude-opus-4-6",
        "claude-haiku-4-5",
    ]


@pytest.mark.slow
def test_events(openai: OpenAIServer, folder: Folder) -> None:
    asked = "When does the library open?"
    openai.script(Reply(calls=(Call("research", {"question": asked}),)), "At nine.", "It opens at nine.", "Bye.")
    done = folder.run(*command(folder.path / "events.py", "python"), **reaching(openai))
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert [line for line in told if line.startswith(" ")] == [
        "  [desk] LLM call: gpt-4o-mini, 20+8 tokens",
        f"  [desk] delegates to researcher: {asked}",
        "  [researcher] LLM call: gpt-4o-mini, 20+8 tokens",
        f'  [desk] research({{"question": "{asked}"}}) -> At nine.',
        "  [desk] LLM call: gpt-4o-mini, 20+8 tokens",
    ]
    assert [line for line in told if not line.startswith(" ")] == [
        "researcher: 28 tokens, tools: []",
        "desk: 84 tokens, tools: ['research']",
        "desk: 28 tokens, tools: []",
    ]


@pytest.mark.slow
def test_an_agent_loop_of_ones_own(openai: OpenAIServer, folder: Folder) -> None:
    calls = (Call("refund", {"order": 1001, "amount": 80}, "call_1"), Call("close_account", {}, "call_2"))
    openai.script(Reply(calls=calls), "Here are 50 dollars. A colleague will call you.")
    done = folder.run(*command(folder.path / "own_agent_loop.py", "python"), **reaching(openai))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "desk: 56 tokens in 2 model calls, tools: {'refund': 1}",
        "Here are 50 dollars. A colleague will call you.",
    ]
    told = [message["content"] for message in openai.requests[1].body["messages"][-2:]]
    assert told == ["50 dollars paid back for order 1001", "Refused: Only a person closes accounts"]


@pytest.mark.slow
def test_a_tool_policy(openai: OpenAIServer, folder: Folder) -> None:
    calls = (
        Call("refund", {"order": 1001, "amount": 80}, "call_1"),
        Call("refund", {"order": 1002, "amount": 30}, "call_2"),
        Call("close_account", {}, "call_3"),
    )
    openai.script(Reply(calls=calls), "Here are 30 dollars. A colleague will call you.")
    done = folder.run(*command(folder.path / "tool_policy.py", "python"), **reaching(openai))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "refund: Tool call rejected: Refunds over 50 need a person",
        "refund: 30 dollars paid back for order 1002",
        "close_account: Tool call rejected: The tool 'close_account' is not allowed here",
        "Here are 30 dollars. A colleague will call you.",
    ]


def test_a_tool_policy_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    (policy,) = yaml.safe_load((EXAMPLES / "spanhook.yaml").read_text())["policies"]
    monkeypatch.syspath_prepend(EXAMPLES)
    in_code = importlib.import_module("tool_policy").POLICY
    in_file = make(find(policy["use"]), policy["with"], name=policy["id"])
    assert isinstance(in_file, ToolPolicy)
    assert (in_file.default, in_file.rules) == (in_code.default, in_code.rules)
    sys.modules.pop("tool_policy")


@pytest.mark.slow
def test_hooks_for_whole_runs(openai: OpenAIServer, folder: Folder) -> None:
    done = folder.run(*command(folder.path / "run_hooks.py", "python"), **reaching(openai))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "started: small-talk for bob in bob-1",
        "ended: small-talk as success",
        "used: 28 tokens of gpt-4o-mini-2024-07-18 by bob",
        "bob: hello there friend",
        "bob: Active subscription required (402)",
        "started: research-agent for ann in ann-1",
        "ended: research-agent as success",
        "used: 28 tokens of gpt-4o-mini-2024-07-18 by ann",
        "ann: hello there friend",
        "started: small-talk for ann in ann-1",
        "failed: small-talk with ValueError",
        "ann: nothing was asked",
        "ann: Too many runs (429)",
    ]
    assert "hook 'notify' on agent.invoke.error failed: ConnectionError" in done.stderr
    assert len(openai.requests) == 2


@pytest.mark.slow
def test_an_agent_loop_that_does_not_end_is_ended(openai: OpenAIServer, folder: Folder) -> None:
    openai.reply = Reply(calls=(Call("refund", {"order": 1001, "amount": 20}),))
    done = folder.run(*command(folder.path / "own_agent_loop.py", "python"), **reaching(openai))
    assert done.returncode == 1
    assert "Reject: More than 5 turns" in done.stderr
    assert len(openai.requests) == 5


@pytest.mark.slow
def test_an_agent_with_a_card(openai: OpenAIServer, folder: Folder) -> None:
    here = Folder(folder.path / "agent_card")
    done = here.run(*command(here.path / "app.py", "python"), **reaching(openai))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "desk starts on gpt-4o-mini"
    assert Counter(lines[1:5]) == {"desk[question] starts on gpt-4o-mini": 2, "desk[question] shuts down": 2}
    assert lines[5:] == ["hello there friend"] * 2 + ["desk shuts down"]
    assert {request.body["messages"][0]["content"] for request in openai.requests} == {
        "You answer customers. Be brief."
    }


@pytest.mark.slow
def test_a_loop_that_remembers(openai: OpenAIServer, folder: Folder) -> None:
    start = command(folder.path / "iteration_loop.py", "python")
    openai.script("Found a flight.", "DONE: all booked.")
    first = folder.run(*start, **reaching(openai))
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines() == [
        "turn 1: Found a flight.",
        "turn 2: DONE: all booked.",
        "2 turns, 0 failed, 0 errors",
    ]
    assert openai.requests[1].body["instructions"] == "You know:\nIteration 1 succeeded: Found a flight."
    again = folder.run(*("session-2" if word == "session-1" else word for word in start), **reaching(openai))
    assert again.returncode == 1
    assert "Reject: More than 4 turns" in again.stderr
    assert again.stdout.splitlines()[-1] == "4 turns, 0 failed, 0 errors"


def test_schedules(folder: Folder) -> None:
    here = Folder(folder.path / "schedules")
    states = SQLiteStates(str(here.path / "schedules.db"))
    before = CronState("* * * * * Europe/Berlin", datetime.now(UTC) - timedelta(hours=1)).as_text()
    states.change("cron:minutely", lambda _: (before, None))  # ticks that were missed, so that it need not wait for one
    states.close()
    done = here.run(*command(here.path / "app.py", "python"), PATH=PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "minutely: report said 'Nothing new about sales'\n"


def ask(port: int, user: str, text: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        headers = {"content-type": "application/json", "x-user-id": user, "connection": "close"}
        connection.request("POST", "/ask", json.dumps({"text": text}), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.slow
def test_a_service_with_several_workers(openai: OpenAIServer, folder: Folder) -> None:
    here, port = Folder(folder.path / "fastapi_service"), free_port()
    served = command(here.path / "web.py", "spanhook")
    with here.server(*served, port=port, **reaching(openai, UVICORN_PORT=str(port))):
        assert ask(port, "mallory", "hello") == (401, {"detail": "Who are you?"})
        assert openai.requests == []
        workers: set[int] = set()
        while len(workers) < 2:
            status, said = ask(port, "ann", "hello")
            assert (status, said["text"]) == (200, "hello there friend")
            workers.add(said["worker"])
            assert ask(port, "mallory", "hello")[0] == 401
    assert all(request.body["input"] == "hello" for request in openai.requests)


@pytest.mark.slow
def test_celery_with_real_workers(openai: OpenAIServer, folder: Folder) -> None:
    here = Folder(folder.path / "celery_workers")
    tasks, added = here.path / "tasks.py", reaching(openai)
    sending = command(tasks, "python")
    with here.process(*command(tasks, "spanhook"), **added):
        answered = here.run(*sending, **added)
        refused = here.run(*("mallory" if word == "ann" else word for word in sending), **added)
    assert (answered.stdout, refused.stdout) == ("hello there friend\n", "rejected: Customers only\n")
    assert len(openai.requests) == 1


@pytest.mark.slow
def test_a_notebook(openai: OpenAIServer, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    for name, value in reaching(openai).items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(folder.path / "notebook.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder.path)}}).execute()
    said = [_said(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert said == [
        "",
        "'hello there friend'",
        "[('gpt-4o-mini', 28, 7.8e-06)]",
        "rejected: Use gpt-4o-mini here\n",
        "1",
    ]
    assert [request.body["model"] for request in openai.requests] == ["gpt-4o-mini", "gpt-4o"]


def _said(cell: Any) -> str:
    return "".join(output.get("text") or output["data"]["text/plain"] for output in cell.outputs)


@pytest.mark.slow
def test_hook_definitions(folder: Folder) -> None:
    here = Folder(folder.path / "hook_definitions")
    done = here.run(*command(here.path / "app.py", "python"), PATH=PROGRAMS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Good morning. Which card? ann has the card ...1111",
        "aborted: Prompt injection detected",
        "And now? ann has the card ...1111",
        "r-2: input_sanitization allow",
        "r-1: input_sanitization reject (aborted)",
        "r-1: greeting modify, input_sanitization allow, input_sanitization allow",
        "4 hooks, 11 executions, 1 rejection",
    ]


def test_every_example_says_what_it_shows_and_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.rglob("*"):
        name = str(path.relative_to(EXAMPLES))
        if path.suffix == ".py" and "__pycache__" not in name:
            assert path.read_text().startswith('"""'), name
        if path.suffix in (".py", ".ipynb") and path.name != "hooks.py":
            assert f"({name})" in listed, name
