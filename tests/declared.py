"""What names libraries and cannot read their declarations: whether it agrees with them, and what to write if not."""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from packaging.requirements import Requirement

from spanhook.instrument import Declaration, Instrumentor

ROOT = Path(__file__).parent.parent
_FOLDER = "src/spanhook/instrument"
_TESTS = ROOT / "tests/instrument"
_ALONE = frozenset(
    (
        "aegra",
        "agent_framework",
        "aiobotocore",
        "claude_agent_sdk",
        "crewai",
        "dspy",
        "fast_agent",
        "google_adk",
        "haystack",
        "langgraph_api",
        "litellm",
        "llama_index",
        "smolagents",
        "strands",
    )
)
"""Libraries that allow only some versions of what others bring, or of Python, or bring much: no extra collects them."""


def row(declared: Declaration, instrumentor: Instrumentor) -> str:
    """The row of a library in the table of docs/ways-in.md."""
    others = [f"`{name}`" for name in dict.fromkeys(declared.names) if name != declared.library]
    kinds = ", ".join(f"`{kind}`" for kind in sorted(instrumentor.kinds))
    extra = f"`spanhook[{declared.extra}]`"
    return f"| `{declared.library}` | {', '.join(others)} | `{declared.requirement}` | {extra} | {kinds} |"


def disagreements(declared: Declaration, instrumentor: Instrumentor, libraries: list[str]) -> list[str]:
    """What is missing where, for one library; ``libraries`` are all that are declared."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [
        *_files(declared),
        *_extras(declared, project["project"]["optional-dependencies"]),
        *_versions(declared),
        *_documents(declared, row(declared, instrumentor), libraries),
        *_variables(declared),
    ]


def _files(declared: Declaration) -> Iterator[str]:
    name = declared.library
    for place, what in (
        (f"{_FOLDER}/{name}/__init__.py", "its instrumentor"),
        (f"src/spanhook/cli/conformance/libraries/{name}.py", "its ways of calling, as SUBJECTS"),
    ):
        if not (ROOT / place).exists():
            yield f"{place}: make it, with {what}"
    if not any(_TESTS.glob(f"test_{name}*.py")) and not any(_TESTS.glob(f"{name}/test_*.py")):
        yield f"tests/instrument/test_{name}.py: make it, with its tests"


def _extras(declared: Declaration, extras: dict[str, list[str]]) -> Iterator[str]:
    wanted = Requirement(declared.requirement)
    found = [Requirement(one) for one in extras.get(declared.extra, ())]
    if not any((one.name, one.specifier) == (wanted.name, wanted.specifier) for one in found):
        yield f"pyproject.toml: add {str(wanted)!r} to the extra {declared.extra!r}"
    for collecting in () if declared.library in _ALONE else (("all",), ("test", "dev")):
        named = [Requirement(one) for extra in collecting for one in extras[extra]]
        if not any(one.name == "spanhook" and declared.extra in one.extras for one in named):
            yield f"pyproject.toml: add {declared.extra!r} to spanhook[...] in the extra {collecting[0]!r}"


def _versions(declared: Declaration) -> Iterator[str]:
    for name, apart, which in (
        ("constraints.txt", "newest", "the newest version"),
        (".ci/oldest.txt", "oldest", "the oldest version"),
    ):
        own = f".ci/libraries/{declared.library}-{apart}.txt"  # of an environment of its own
        name = own if (ROOT / own).exists() else name
        pinned = re.search(rf"^{re.escape(declared.distribution)}==(\S+)$", (ROOT / name).read_text(), re.MULTILINE)
        if pinned is None:
            yield f"{name}: add {declared.distribution}=={which} that is supported"
        elif pinned[1] not in Requirement(declared.requirement).specifier:
            yield f"{name}: {pinned[0]} is not what is supported, {declared.requirement}"


def _documents(declared: Declaration, table: str, libraries: list[str]) -> Iterator[str]:
    ways, readme = (ROOT / "docs/ways-in.md").read_text(), (ROOT / "README.md").read_text()
    if table not in ways.splitlines():
        yield f"docs/ways-in.md: the table of libraries needs the row {table}"
    if f"({', '.join(libraries)}) call it" not in " ".join(ways.split()):
        yield f"docs/ways-in.md: the warning should name {', '.join(libraries)}"
    (supported,) = (part for part in readme.split("\n\n") if part.lstrip().startswith("Python 3.11 to "))
    if declared.distribution not in supported:
        yield f"README.md: its paragraph on supported versions should name {declared.distribution}"


def _variables(declared: Declaration) -> Iterator[str]:
    forgotten = re.search(r"^ +(SPANHOOK_\* \|.*)\)$", (ROOT / ".ci/environments").read_text(), re.MULTILINE)
    assert forgotten is not None
    for beginning in declared.variables:
        if not any(fnmatch(f"{beginning}X", pattern) for pattern in forgotten[1].split(" | ")):
            yield f".ci/environments: forget_surroundings should forget {beginning}*"
