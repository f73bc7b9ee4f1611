"""``spanhook demo``: a real LangGraph agent under hooks, on a machine with nothing else.

Nothing that may be missing is imported before it is known to be installed.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from spanhook.errors import ConfigurationError
from spanhook.export.console import GAP, Node, Style, render, style_of, usage_table, wrap
from spanhook.model import Usage, encodable_to, harmless
from spanhook.version import HOME

__all__ = ["run_demo", "serve_demo"]

if TYPE_CHECKING:
    from spanhook.cli.demo.scenes import Scene

NEEDED = ("langchain", "langgraph", "genai_prices")
KEY = "OPENAI_API_KEY"
NEXT = (
    "next: `spanhook run --console app.py` shows the runs of your own agent like this, without changing it",
    f"docs: {HOME or 'README.md and docs/'} explain how to write hooks and what is guaranteed",
)


def run_demo(live: bool, as_json: bool) -> int:
    """Play the scenes and print the results on standard output.

    Args:
        live: Use OpenAI's models instead of scripted ones; needs a key in ``OPENAI_API_KEY``.
        as_json: Print one JSON document instead of text; ``spanhook.cli.demo.document`` describes it.

    Returns:
        The exit code: 2 if something is missing, 1 if a run failed.
    """
    try:
        _check(live=live)
    except ConfigurationError as error:
        return _failed(str(error), 2)
    from spanhook.cli.demo.agent import make
    from spanhook.cli.demo.document import Document, run_document
    from spanhook.cli.demo.recording import recorded
    from spanhook.cli.demo.scenes import SCENES

    style = style_of(sys.stdout)
    try:
        with recorded() as seen:
            agent = make(live=live)
            for number, scene in enumerate(SCENES, 1):
                speaker, said = scene.run(agent)
                if not as_json:
                    _print(_scene(f"{number}/{len(SCENES)}", scene, speaker, said, seen.trees[-1], style))
    except ConfigurationError as error:
        return _failed(f"spanhook demo: {error}", 2)
    except BrokenPipeError:  # the reader closed the pipe
        raise
    except Exception as error:  # a provider that refuses the key, or a broken installation
        return _failed(f"spanhook demo: {type(error).__name__}: {error}", 1)
    if as_json:
        runs = [run_document(scene.name, tree, seen.spans) for scene, tree in zip(SCENES, seen.trees, strict=True)]
        print(json.dumps(Document(runs=runs), indent=2))  # noqa: T201
    else:
        _print(_ending(seen.trees, style))
    return 0


def serve_demo(*, live: bool, port: int | None, database: str | None) -> int:
    """Play the scenes, and show them in the control plane; see ``spanhook.cli.demo.serving``.

    Raises:
        ConfigurationError: A package is missing, the port is taken, or the database cannot be used.
    """
    from spanhook.cli.demo.serving import serve_demo as serve

    _check(live=live)
    return serve(live=live, port=port, database=database)


def _check(*, live: bool) -> None:
    missing = [name for name in (*NEEDED, *(("langchain_openai",) if live else ())) if find_spec(name) is None]
    if missing:
        raise ConfigurationError(f'spanhook demo needs {", ".join(missing)}; run pip install "spanhook[demo]"')
    if live and not os.environ.get(KEY):
        raise ConfigurationError(f"spanhook demo --live calls OpenAI's models and needs a key; set {KEY}")


def _failed(message: str, code: int) -> int:
    print(" ".join(message.split()), file=sys.stderr)  # noqa: T201
    return code


def _scene(place: str, scene: "Scene", speaker: str, said: str, tree: Node, style: Style) -> Iterator[str]:
    yield style.paint(f"{place}  {scene.title}", "bold")
    yield from wrap(scene.look_at, style.width, 3, style)
    for who, what in ((scene.user_id, scene.request), (speaker, said)):
        for line in wrap(f"{who}: {harmless(what)}", style.width - len(GAP), 4, style):
            yield GAP + style.paint(line, "dim")
    yield render(tree, style)


def _ending(trees: list[Node], style: Style) -> Iterator[str]:
    used = Usage()
    for tree in trees:
        for model, one in tree.by_model.items():
            used.add_call(model, one)
    yield from usage_table(dict(used.by_model), style, f"usage by model, all {len(trees)} runs")
    yield ""
    yield from NEXT


def _print(lines: Iterable[str]) -> None:
    print(encodable_to("\n".join(lines), sys.stdout), flush=True)  # noqa: T201
