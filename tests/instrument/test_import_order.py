"""Libraries that are imported after `instrument()`, beginning with any of their modules: every point is bound."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from spanhook.instrument import INSTRUMENTORS, instrumentor_of

NEVER_FIRST = {
    "openai.lib.streaming.agents._tools": "the SDK imports it with others, and fails if it is the first",
}


def _is_there(module: str) -> bool:
    """Whether this version of the library has the module."""
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


MODULES = [
    (library, module)
    for library in INSTRUMENTORS
    for module in dict.fromkeys(entry.module for entry in instrumentor_of(library).table)
    if module not in NEVER_FIRST and not module.startswith("spanhook.") and _is_there(module)  # stand-ins are ours
]
FIRST = {"langgraph.pregel.main"}
"""One that many applications begin with, of two libraries; the others where slow tests are run."""

CHILD = """
import importlib, logging, sys

heard = []
handler = logging.Handler(logging.WARNING)
handler.emit = lambda record: heard.append(record.getMessage())
logging.getLogger("spanhook").addHandler(handler)

import spanhook
from spanhook import Hooks, Reject
from spanhook.diagnostics import internal
from spanhook.instrument import instrumentor_of

internal.fatal = True
hooks = Hooks()

@hooks.before("*", timeout=None)
def refuse(op):
    raise Reject("no")

@hooks.after("llm.call", "tool.execute", stream="buffer", timeout=None)
def seen(op):
    pass

spanhook.instrument(hooks, settings=spanhook.Settings(allow=["mcp"]))  # which others import
library, module, *rest = sys.argv[1:]
importlib.import_module(module)
for other in rest:
    importlib.import_module(other)
states = instrumentor_of(library).required_states()
assert all(state == "bound" for _, state in states), states
assert not heard, heard

from spanhook.cli.conformance.subject import Body, settle

WAYS = ("invoke", "ainvoke", "put", "run", "run_streamed", "run_stream", "get_response", "on_invoke_tool", "request", "embed")
for subject in importlib.import_module(f"spanhook.cli.conformance.libraries.{library}").SUBJECTS:
    for way in [way for way in WAYS if way in subject.ways] or list(subject.ways)[:1]:
        body = Body()
        try:
            settle(subject.ways[way](subject.make(body)))
        except Reject:
            pass
        else:
            assert not subject.raises, f"{subject.name} {way} was not refused"
        assert body.runs == 0, f"{subject.name} {way}"
assert not heard, heard
print("all refused")
"""


@pytest.mark.parametrize(
    ("library", "module"),
    [
        pytest.param(library, module, id=module, marks=[] if module in FIRST else pytest.mark.slow)
        for library, module in MODULES
    ],
)
def test_whatever_is_imported_first_everything_is_gated(library: str, module: str) -> None:
    rest = [other for known, other in MODULES if known == library and other != module]
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, library, module, *rest], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ran.returncode, ran.stdout) == (0, "all refused\n"), ran.stderr
