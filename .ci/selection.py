"""Which steps of .ci/run a change can break, and which others have their turn.

    .ci/selection.py STEP...    a line for each: its name, a tab and why it runs; nothing after the tab if it does not.
                                Steps that always run come first, then those whose turn it is

A step depends on the Python files that its tests import, directly or not: ``import_graph`` has the imports, and
``SCOPES`` the tests. ``RULES`` cover other files. A file that neither knows selects all steps.
"""

import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from import_graph import DECLARATIONS, WAYS, entry_points, imports, libraries_in, nodes_of, owner, paths

ROOT = Path(__file__).parent.parent
TURNS = 4
ALWAYS = (
    "lint", "types", "docs", "package", "installs", "benchmarks", "readme-tests", "readme-demo", "e2e", "control-plane",
)  # fmt: skip
NEWEST, OLDEST = "constraints.txt", ".ci/oldest.txt"
CONFORMANCE = "src/spanhook/cli/conformance"
HANDLERS = "src/spanhook/gating/handlers.py"  # loads hooks by the names of their entry points
BY_LIBRARY = (f"{CONFORMANCE}/matrix.py", "tests/conformance/everything.py")  # import the ways of calling each library
BY_SETTING = (
    "src/spanhook/cli/main.py",
    "src/spanhook/bootstrap/startup.py",
)  # import what settings name
APART = "tests/(agent_hooks|applications|browser|compose|e2e|foreign|presidio)/"
CONTROL_PLANE = "tests/(control_plane|server|store/control)/|tests/cli/(demo/)?test_(serving|working)"

# The steps for a changed file, by its path: each pattern that matches counts, and so does the graph. No step: the
# steps that always run are enough.
RULES = {
    r"\.ci/(run|environments|selection\.py|import_graph\.py)|pyproject\.toml": "*",
    r"\.ci/(bare|installs\.py)": "",
    r"\.ci/rules\.py": "slow",
    r"\.ci/tools": "compose pages",
    r"\.ci/libraries/([\w.]+-(newest|oldest))\.txt": r"library-\1",
    r"\.ci/(agent-hooks|applications|foreign|presidio|worker)\.txt": r"\1",
    r"\.ci/oldest\.txt": "oldest conformance-oldest control-plane-oldest worker-oldest",
    r"constraints\.txt": "slow slow-commands slow-libraries conformance python-* pages compose",
    r"docker-compose\.yml|(collector|grafana)/.+": "slow slow-commands compose oldest python-*",
    r"docs/semconv/.+|docs/spanhook\.schema\.json": "slow slow-commands slow-libraries oldest python-*",
    r"README\.md|docs/.+\.md": "oldest python-*",  # the Python in it is run
    r"(examples|benchmarks)/.+": "slow slow-commands",
    r"docs/pictures/operation\.svg": "slow",
    r"docs/pictures/.+|docs/site\.py|mkdocs\.yml": "",
    r"(CHANGELOG|SECURITY)\.md|LICENSE|\.gitignore|\.pre-commit-config\.yaml|\.github/.+": "",
}


@dataclass(frozen=True)
class Scope:
    """What a step runs.

    Attributes:
        versions: The file with the versions of its environment.
        tests: A pattern of the paths of its tests.
        marked: A pattern that the text of these tests has, if it runs only some.
        library: The only library that it is about.
        narrow: Whether it uses commands, the control plane and ready-made hooks only where its tests import them.
    """

    versions: str
    tests: str
    marked: str = ""
    library: str = ""
    narrow: bool = True


DEFAULT = rf"tests/(?!{APART.removeprefix('tests/')})"
SLOW = r"slow|parametrize"
SLOW_COMMANDS, SLOW_LIBRARIES = "bootstrap/|cli/|config/|examples/", "conventions/|instrument/"
SCOPES = {
    "slow": Scope(NEWEST, rf"{DEFAULT}(?!conformance/|{SLOW_COMMANDS}|{SLOW_LIBRARIES})", marked=SLOW, narrow=False),
    "slow-commands": Scope(NEWEST, f"tests/({SLOW_COMMANDS})", marked=SLOW, narrow=False),
    "slow-libraries": Scope(NEWEST, f"tests/({SLOW_LIBRARIES})", marked=SLOW, narrow=False),
    "conformance": Scope(NEWEST, "tests/conformance/"),
    "conformance-oldest": Scope(
        OLDEST, "tests/(conformance|engine|hooks|instrument)/", marked=r"slow|parametrize|SUBJECTS|CASES"
    ),
    "oldest": Scope(OLDEST, rf"{DEFAULT}(?!jobs/)", narrow=False),
    "python-*": Scope(NEWEST, DEFAULT, narrow=False),
    "control-plane": Scope(NEWEST, CONTROL_PLANE, narrow=False),
    "control-plane-oldest": Scope(OLDEST, CONTROL_PLANE, narrow=False),
    "e2e": Scope(NEWEST, "tests/", marked=r"mark\.e2e", narrow=False),
    "compose": Scope(NEWEST, "tests/compose/", narrow=False),
    "pages": Scope(NEWEST, "tests/browser/", narrow=False),
    "worker": Scope(".ci/worker.txt", "tests/jobs/", narrow=False),
    "worker-oldest": Scope(OLDEST, "tests/jobs/", narrow=False),
    "applications": Scope(".ci/applications.txt", "tests/applications/"),
    "foreign": Scope(".ci/foreign.txt", "tests/foreign/"),
    "presidio": Scope(".ci/presidio.txt", "tests/presidio/"),
    "agent-hooks": Scope(".ci/agent-hooks.txt", "tests/agent_hooks/|tests/hooks/test_agent_hooks"),
}


def scope_of(step: str) -> Scope | None:
    """What a step runs, or None if it always runs or is unknown."""
    if step.startswith("library-"):
        name = step.removeprefix("library-")
        library = name.rpartition("-")[0]
        versions = f".ci/libraries/{name}.txt"
        tests = rf"tests/instrument/(test_)?{library}[/_.]"
        if "\n# matrices: yes\n" in (ROOT / versions).read_text():
            tests += "|tests/conformance/"
        return Scope(versions, tests, library=library)
    return next((scope for name, scope in SCOPES.items() if fnmatchcase(step, name)), None)


# ------------------------------------------------------------------------------------------------ the choice


@functools.cache
def exercised(scope: Scope) -> frozenset[str]:
    """The Python files that the tests of a step import, directly or not."""
    here = libraries_in(scope.versions) | ({scope.library} if scope.library else set())

    def is_there(path: str) -> bool:
        return owner(path) in {None, *here}

    def onward(path: str) -> Iterable[str]:
        if path == DECLARATIONS:
            return (f"src/spanhook/instrument/{library}/__init__.py" for library in here)
        if path in BY_LIBRARY and not scope.library:
            return (*imports(path), *(way for way in paths() if way.startswith(WAYS) and is_there(way)))
        if path in BY_SETTING and scope.narrow:
            return ()
        return (*imports(path), *entry_points()) if path == HANDLERS and not scope.narrow else imports(path)

    roots = [path for path in paths() if re.match(scope.tests, path) and is_there(path) and _is_marked(path, scope)]
    if scope.library:  # the step runs `spanhook conformance --library`, too
        roots += [f"{CONFORMANCE}/__init__.py"]
        roots += [path for path in paths() if path.startswith(WAYS) and owner(path) == scope.library]
    seen: set[str] = set()
    while roots:
        path = roots.pop()
        if path not in seen:
            seen.add(path)
            roots.extend(onward(path))
    return frozenset(seen)


def _is_marked(path: str, scope: Scope) -> bool:
    return not scope.marked or re.search(scope.marked, (ROOT / path).read_text()) is not None


def affected(path: str, steps: Iterable[str]) -> set[str]:
    """The steps that a change of a file can break, besides those that always run."""
    matches = [(match, names) for pattern, names in RULES.items() if (match := re.fullmatch(pattern, path))]
    patterns = [name for match, names in matches for name in match.expand(names).split()]
    nodes = nodes_of(path)
    if not matches and not nodes:
        patterns = ["*"]
    by_rule = {step for step in steps if any(fnmatchcase(step, pattern) for pattern in patterns)}
    return by_rule | {step for step in steps if (scope := scope_of(step)) and exercised(scope) & nodes}


def select(steps: list[str], changed: Iterable[str], turn: int) -> dict[str, str]:
    """Why each step runs; empty for those that need not.

    Args:
        steps: All steps there are, in the order in which they take turns.
        changed: Paths of changed files.
        turn: How many changes came before; what counts is the rest of dividing it by ``TURNS``.
    """
    reasons = dict.fromkeys(steps, "")
    for path in changed:
        for step in affected(path, steps):
            reasons[step] = reasons[step] or f"changed: {path}"
    by_turns = [step for step in steps if step not in ALWAYS]
    for step in by_turns[turn % TURNS :: TURNS]:
        reasons[step] = f"turn {turn % TURNS + 1} of {TURNS}"
    return {step: "always" if step in ALWAYS else reason for step, reason in reasons.items()}


def git(*arguments: str) -> str:
    """What git prints; empty if it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def base() -> tuple[str, str]:
    """The commit that the change will land on, or why it is unknown."""
    named = os.environ.get("SPANHOOK_CI_BASE", "")
    target = os.environ.get("GITHUB_BASE_REF", "")
    ref = named or f"origin/{target or 'main'}"
    commit, head = git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"), git("rev-parse", "HEAD")
    if not commit:
        return "", f"{ref} is not a commit here"
    if git("rev-parse", "--is-shallow-repository") != "false":
        return "", "this clone is shallow"
    if not git("merge-base", commit, "HEAD") or (not named and commit == head):
        return "", f"{ref} does not come before this commit"
    return (commit, "") if git("merge-base", commit, "HEAD") == commit else ("", f"{ref} has commits that are not here")


def main(steps: list[str]) -> None:
    commit, unknown = base()
    changed: list[str] = []
    if not unknown:
        changed += git("diff", "--name-only", "--no-renames", commit).splitlines()
        changed += git("ls-files", "--others", "--exclude-standard").splitlines()
    reasons = select(steps, changed, int(git("rev-list", "--first-parent", "--count", "HEAD")))
    for step in sorted(steps, key=lambda step: _RANKS.get(reasons[step].partition(" ")[0], len(_RANKS))):
        reason = reasons[step] or (f"everything, as {unknown}" if unknown else "")
        sys.stdout.write(f"{step}\t{reason}\n")


_RANKS = {"always": 0, "turn": 1}


if __name__ == "__main__":
    main(sys.argv[1:])
