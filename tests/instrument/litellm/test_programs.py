"""Harnesses that run a program, which calls models through LiteLLM."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.litellm_ways import litellm
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import recorder
from tests.instrument.litellm.harnesses import Run, every, whole
from tests.instrument.litellm.parts import nested

if not hasattr(litellm, "agent"):
    pytest.skip("this version has no loops, harnesses or A2A", allow_module_level=True)

PROGRAM = """#!{python}
import json, os, re, sys, urllib.request
url = re.search(r'base_url[ =]+"([^"]+)"', " ".join(sys.argv)).group(1)
body = json.dumps({{"model": "any", "input": "Say hello.", "stream": {stream}}}).encode()
headers = {{"authorization": "Bearer " + os.environ["LITELLM_HARNESS_TOKEN"], "content-type": "application/json"}}
try:
    with urllib.request.urlopen(urllib.request.Request(url + "/responses", body, headers)) as reply:
        said = "done" if reply.read() else "nothing"
except urllib.error.HTTPError as error:
    said = "refused: " + error.read().decode()
print(json.dumps({{"type": "thread.started", "thread_id": "t"}}))
print(json.dumps({{"type": "item.completed", "item": {{"type": "agent_message", "id": "1", "text": said}}}}))
print(json.dumps({{"type": "turn.completed"}}))
"""


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def program(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that stands in for Codex: it asks a model as LiteLLM tells it to."""
    made = tmp_path / "bin" / "codex"
    made.parent.mkdir()
    made.write_text(PROGRAM.format(python=sys.executable, stream=request.param))
    made.chmod(0o755)
    monkeypatch.setenv("PATH", f"{made.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("program")
@every
def test_models_that_a_program_calls_are_inside_of_its_turn(
    run: Run, given: dict[str, Any], server: OpenAIServer
) -> None:
    totals: list[int] = []
    hooks = Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        assert run(litellm.Harness.CODEX, given).text == "done"
    assert nested(seen) == [("chat gpt-4o-mini", "invoke_agent codex"), ("invoke_agent codex", "")]
    assert totals == [28]


@pytest.mark.usefixtures("program")
def test_a_program_is_told_of_a_refused_model_call(given: dict[str, Any], server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("Not today")

    with recorder(hooks):
        assert "Not today" in whole(litellm.Harness.CODEX, given).text
    assert not server.requests
