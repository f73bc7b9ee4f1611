"""``spanhook demo``: a real LangGraph agent under hooks, on a machine with nothing else.

Nothing here imports a library that may be missing before it is known to be there.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from spanhook import providers
from spanhook.config import instrument, uninstrument
from spanhook.console.rendering import render, usage_table
from spanhook.console.terminal import Style, encodable, style_of, wrap
from spanhook.console.tree import Node, Trees
from spanhook.demo.document import Document, run_document
from spanhook.errors import ConfigurationError
from spanhook.lifecycle import listeners
from spanhook.usage import Usage

if TYPE_CHECKING:
    from spanhook.demo.scenes import Scene

NEEDED = ("langchain", "langgraph", "genai_prices")
SERVICE = "spanhook-demo"
KEY = "OPENAI_API_KEY"
NEXT = (
    "next: `spanhook run --console app.py` shows the runs of your own agent like this, without a change to it",
    "docs: https://github.com/spanhook/spanhook#readme says how to write hooks, and what is guaranteed",
)


def run_demo(live: bool, as_json: bool) -> int:
    """Play the scenes and print what came of them.

    Args:
        live: Use OpenAI's models instead of scripted ones; needs a key in ``OPENAI_API_KEY``.
        as_json: Print one JSON document instead of text; see ``spanhook.demo.document``.

    Returns:
        The exit code: 2 if something is missing, 1 if a scene failed.
    """
    try:
        _check(live)
    except ConfigurationError as error:
        return _say_why(str(error), 2)
    with _recorded() as (trees, spans):
        try:
            played = [(scene, trees.pop(), word) for scene, word in _play(live)]
        except Exception as error:
            return _say_why(f"spanhook demo: {type(error).__name__}: {error}", 1)
    if as_json:
        runs = [run_document(scene.name, tree, spans) for scene, tree, _ in played]
        sys.stdout.write(json.dumps(Document(runs=runs), indent=2) + "\n")
        return 0
    style = style_of(sys.stdout)
    ...
    return 0
