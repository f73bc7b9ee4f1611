"""Whether pip finds versions for each extra, and for each combination that the docs name, without constraints.

    .ci/run installs       builds the wheel, makes an environment for each pip, and starts this

The pips are the one that comes with each CPython of this machine, and the newest. What landings prove:

- By turns, so that TURNS landings prove all of it: each extra and combination alone with the newest pip on the first
  CPython; and those that no other contains (`all`, `dev`, the libraries for environments of their own) with each
  CPython's own pip, and with the newest on the last CPython, as some need one newer than the first. An extra that
  another contains is proven there: older pips take three times the CPU, most of it to read pages of the index.
- What the change touches (since SPANHOOK_CI_BASE, or the first parent): the same, whoever's turn it is.

SPANHOOK_CI_INSTALLS=all proves all of it at once, in about half an hour of CPU; other values are names of extras.
"""

import argparse
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "docs/**/*.md", "examples/README.md")
TURNS = 12
CPU_SECONDS = 90
"""A minute of an idle machine, and half as much again: beside other steps, a core does less in a second."""
WALL_SECONDS = 900
LARGE = frozenset({"dev"})
"""Extras for which pip 23 takes more than a minute, without backtracking: docs/CONTRIBUTING.md upgrades it first."""
TAIL = 25
"""Lines of a failed pip's output."""

_NAMED = re.compile(r"(?<![\w-])(?:spanhook|path/to/this/checkout|\.)\[([a-z][a-z0-9,-]*)\]")
_COMMAND = re.compile(r"pip install ([^`\n#&]+)")

Extras = dict[str, list[Requirement]]


@dataclass(frozen=True, order=True)
class Target:
    """What one command installs: extras of spanhook, and other requirements beside them."""

    extras: tuple[str, ...]
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((f"spanhook[{','.join(self.extras)}]", *self.others))


@dataclass(frozen=True)
class Pip:
    python: Path
    """Of an environment with this pip."""
    version: str
    minor: str
    alone: bool
    """Whether it is tried with every target, also with those that others contain."""

    def __str__(self) -> str:
        return f"pip {self.version}, CPython {self.minor}"


def read_extras(pyproject: str) -> Extras:
    declared = tomllib.loads(pyproject)["project"]
    named = {extra: [Requirement(one) for one in some] for extra, some in declared["optional-dependencies"].items()}
    return {"": [Requirement(one) for one in declared["dependencies"]]} | named


def read_documented() -> set[Target]:
    """The combinations in the docs; what is installed beside an extra is read from commands alone."""
    return {target for pattern in DOCUMENTS for path in ROOT.glob(pattern) for target in targets_in(path.read_text())}


def targets_in(text: str) -> Iterator[Target]:
    for named in _NAMED.findall(text):
        yield Target(tuple(sorted(named.split(","))))
    for command in _COMMAND.findall(text):
        words = shlex.split(command)
        named = {extra for word in words for some in _NAMED.findall(word) for extra in some.split(",")}
        skipped = {index + 1 for index, word in enumerate(words) if word in {"-c", "--constraint"}}
        others = [
            word
            for index, word in enumerate(words)
            if index not in skipped and not word.startswith("-") and not _NAMED.search(word)
        ]
        if named:
            yield Target(tuple(sorted(named)), tuple(sorted(others)))


def contents(target: Target, extras: Extras) -> frozenset[str]:
    """The extras that a target brings, those within others included."""
    found: set[str] = set()
    left = ["", *target.extras]
    while left:
        extra = left.pop()
        if extra not in found:
            found.add(extra)
            left += (inner for one in extras[extra] if one.name == "spanhook" for inner in one.extras)
    return frozenset(found)


def requirements(target: Target, extras: Extras) -> frozenset[str]:
    return frozenset(str(one) for extra in contents(target, extras) for one in extras.get(extra, ()))


def outermost(targets: list[Target], extras: Extras) -> list[Target]:
    """Those that no other contains."""
    whole = {target: contents(target, extras) | set(target.others) for target in targets}
    return [target for target in targets if not any(whole[target] < whole[other] for other in targets)]


def all_targets(extras: Extras) -> list[Target]:
    return sorted({Target((extra,)) for extra in extras if extra} | read_documented())


def selected(targets: list[Target], pips: list[Pip], extras: Extras, which: str) -> Iterator[tuple[Target, Pip]]:
    outer = outermost(targets, extras)
    outer_without = outermost([target for target in targets if not LARGE & set(target.extras)], extras)
    pairs = [
        (target, pip)
        for pip in pips
        for target in (targets if pip.alone else outer_without if pip.version.startswith("23.") else outer)
    ]
    if which == "all":
        yield from pairs
        return
    if which:
        yield from ((target, pip) for target in targets for pip in pips if set(which.split(",")) & set(target.extras))
        return
    before = _extras_before()
    changed = {
        one for one in targets if before is None or requirements(one, extras) != _requirements_before(one, before)
    }
    turn = int(_git("rev-list", "--count", "--first-parent", "HEAD")) % TURNS
    print(f"turn {turn} of {TURNS}; changed: {', '.join(map(str, sorted(changed))) or 'none'}")
    yield from (pair for index, pair in enumerate(pairs) if index % TURNS == turn or pair[0] in changed)


def _extras_before() -> Extras | None:
    """The extras of the commit that the change lands on; None if it is unknown, which makes all changed."""
    base = os.environ.get("SPANHOOK_CI_BASE") or "HEAD^"
    try:
        return read_extras(_git("show", f"{base}:pyproject.toml"))
    except subprocess.CalledProcessError:
        print(f"the commit {base} is not here: all of it is resolved")
        return None


def _requirements_before(target: Target, before: Extras) -> frozenset[str]:
    return requirements(target, before) if set(target.extras) <= set(before) else frozenset()


def _git(*arguments: str) -> str:
    return subprocess.run(("git", *arguments), cwd=ROOT, check=True, capture_output=True, text=True).stdout


def read_pip(environment: Path, alone: bool) -> Pip:
    python = environment / "bin" / "python"
    ask = "import pip, sys; print(pip.__version__, '%d.%d' % sys.version_info[:2])"
    version, minor = subprocess.run((python, "-c", ask), check=True, capture_output=True, text=True).stdout.split()
    return Pip(python, version, minor, alone)


def resolves(target: Target, pip: Pip, wheel: Path) -> bool:
    surroundings = {name: value for name, value in os.environ.items() if name not in {"PIP_CONSTRAINT", "PIP_PRE"}}
    spanhook = f"spanhook[{','.join(target.extras)}] @ {wheel.as_uri()}"
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.NamedTemporaryFile() as report:
        command = ("install", "--dry-run", "--ignore-installed", "--progress-bar=off", "--report", report.name)
        try:
            done = subprocess.run(
                (pip.python, "-m", "pip", *command, spanhook, *target.others),
                check=False,
                env=surroundings,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=WALL_SECONDS,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5)),
            )
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as expired:
            code, output = None, (expired.stdout or b"").decode()
        count = len(json.loads(Path(report.name).read_text())["install"]) if code == 0 else 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    took = f"{cpu:.1f} s of CPU, {time.monotonic() - began:.0f} s"
    if code == 0:
        print(f"{target}: {pip}: {count} packages, {took}", flush=True)
        return True
    why = {None: f"not done in {WALL_SECONDS} s", -signal.SIGXCPU: f"not done in {CPU_SECONDS} s of CPU"}
    print(f"{target}: {pip}: FAILED, {why.get(code, f'code {code}')}; {took}; the end of what pip printed:")
    print("".join(f"   | {line}\n" for line in output.splitlines()[-TAIL:]), end="")
    print(f"   again: {_again(target, pip)}\n", flush=True)
    return False


def _again(target: Target, pip: Pip) -> str:
    """A command that does it once more, in an environment that it makes; this one goes away with the step."""
    checkout = f"{ROOT}[{','.join(target.extras)}]"
    install = shlex.join(("install", "--dry-run", "--ignore-installed", "-v", checkout, *target.others))
    return (
        f"python{pip.minor} -m venv again && again/bin/python -m pip install pip=={pip.version}"
        f" && again/bin/python -m pip {install}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, required=True, help="spanhook, built")
    parser.add_argument("--alone", type=Path, help="the environment whose pip tries every extra alone")
    parser.add_argument("environments", type=Path, nargs="+", help="environments, each with a pip")
    options = parser.parse_args()
    extras = read_extras((ROOT / "pyproject.toml").read_text())
    pips = [read_pip(path, path == options.alone) for path in options.environments]
    which = os.environ.get("SPANHOOK_CI_INSTALLS", "")
    pairs = list(selected(all_targets(extras), pips, extras, which))
    failed = [f"{target} ({pip})" for target, pip in pairs if not resolves(target, pip, options.wheel.resolve())]
    print(f"{len(pairs) - len(failed)} of {len(pairs)} resolved" + "".join(f"\nfailed: {one}" for one in failed))
    return bool(failed) or not pairs


if __name__ == "__main__":
    sys.exit(main())
