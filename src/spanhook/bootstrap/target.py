"""What to start, and with which Python: a script, a module or a command line.

A command that does not pass its environment on to its Python cannot be gated, and is refused here.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from spanhook.errors import ConfigurationError

_PYTHON = re.compile(r"(python|pypy)[\d.]*[a-z]?(\.exe)?")
_POLYGLOT = re.compile(rb"^'''exec' \"?(/[^\"\n]*?)\"? \"\$0\"", re.MULTILINE)
"""How pip writes a script whose interpreter's path is too long for a first line."""

_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "fish"}
_LAUNCHERS = _SHELLS | {
    *("env", "nice", "ionice", "nohup", "setsid", "timeout", "time", "stdbuf", "taskset", "chrt", "numactl", "setpriv"),
    *("tini", "dumb-init", "catatonit", "gosu", "su-exec", "xvfb-run", "strace", "perf"),
    *("uv", "uvx", "poetry", "pdm", "hatch", "rye", "pipenv", "pixi", "conda", "mamba", "micromamba", "make", "just"),
}
"""Commands that start others with their own environment."""

_CLEARS = re.compile(r"-|-[0v]*i|--ignore-environment")
_DEFEATING = {
    "I": "isolates Python from the environment",
    "E": "makes Python ignore PYTHONPATH",
    "S": "keeps Python from running start-up code",
}


@dataclass(frozen=True, slots=True)
class Target:
    """What to start.

    Attributes:
        file: The file to execute.
        argv: Its arguments, starting with its own name.
        python: The Python that will run, with its options, as far as known.
        direct: Whether ``file`` is that Python, or is run by it, so that nothing else runs first.
    """

    file: str
    argv: tuple[str, ...]
    python: tuple[str, ...] = ()
    direct: bool = True


def resolve(words: Sequence[str], *, command: bool) -> Target:
    """Find the target that ``words`` mean.

    Args:
        words: ``app.py`` or ``-m module`` with arguments, or a command line.
        command: They come after ``--``, and so may be any command line.

    Raises:
        ConfigurationError: It does not exist, or cannot be started gated.
    """
    if not words:
        raise ConfigurationError("nothing to run; write spanhook run app.py, -m module, or -- command")
    first = words[0]
    if first == "-m":
        if len(words) < 2:
            raise ConfigurationError("-m needs a module name; write spanhook run -m module")
        return _ours(words)
    if first.startswith("-"):
        raise ConfigurationError(f"no such option {first!r}; options of spanhook run go before the application")
    if os.path.exists(first) and (not command or first.endswith(".py") or os.path.isdir(first)):
        return _ours(words)
    if not command:
        hint = f"; write spanhook run -- {first} ... to run a command" if _found(first) else ""
        raise ConfigurationError(f"the script {first!r} does not exist{hint or '; correct the path'}")
    return _command(words)


def _found(command: str) -> str | None:
    """The file of a command: on PATH, or beside the Python that runs this one, whose environment need not be active."""
    return shutil.which(command) or shutil.which(command, path=os.path.dirname(sys.executable))


def _ours(words: Sequence[str]) -> Target:
    return Target(sys.executable, (sys.executable, *words), (sys.executable,))


def _command(words: Sequence[str]) -> Target:
    file = _found(words[0])
    if file is None:
        raise ConfigurationError(f"the command {words[0]!r} does not exist; correct it, or install it")
    interpreter = _interpreter([file, *words[1:]])
    base = os.path.basename(file)
    if interpreter is not None:
        return Target(file, tuple(words), _checked(interpreter), direct=base not in _LAUNCHERS)
    shebang = _shebang(file)
    if base in _LAUNCHERS or (shebang and os.path.basename(shebang[0]) in _LAUNCHERS):
        return Target(file, tuple(words), direct=False)
    raise ConfigurationError(
        f"{words[0]!r} is not a Python program; put spanhook run before the Python command that it starts, "
        f"or, if it passes its environment on, write -- env {words[0]} ..."
    )


def _interpreter(words: Sequence[str]) -> list[str] | None:
    """The Python that a command line runs, with its options, or ``None`` if that cannot be determined."""
    file, base = words[0], os.path.basename(words[0])
    if _PYTHON.fullmatch(base):
        return [file, *words[1:]]
    if base in _LAUNCHERS:
        for position, word in enumerate(words[1:], 1):
            if base == "env":
                _check_env(word)
            found = shutil.which(word) if word and not word.startswith("-") else None
            if found is not None:
                return _interpreter([found, *words[position + 1 :]])
        return None
    shebang = _shebang(file)
    return _interpreter(shebang) if shebang else None


def _shebang(file: str) -> list[str]:
    """The words of a script's first line, or nothing."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(1024)
    except OSError:
        return []
    polyglot = _POLYGLOT.search(head)
    if polyglot is not None:
        return [os.fsdecode(polyglot[1])]
    if not head.startswith(b"#!"):
        return []
    return os.fsdecode(head[2:].split(b"\n", 1)[0]).split()


def _check_env(word: str) -> None:
    if _CLEARS.fullmatch(word) or word.endswith("PYTHONPATH") or word.startswith("PYTHONPATH="):
        raise ConfigurationError(f"env {word} takes spanhook out of the environment; set it before spanhook run")


def _checked(words: Sequence[str]) -> tuple[str, ...]:
    """Only the interpreter and its options.

    Raises:
        ConfigurationError: One of them would keep spanhook out.
    """
    taken = [words[0]]
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word == "-":
            break
        if word.startswith("--"):
            if word in ("--help", "--version"):
                return ()
            taken += [word, next(rest, "")]  # --check-hash-based-pycs is the only other one
            continue
        for position, letter in enumerate(word[1:], 1):
            if letter in _DEFEATING:
                raise ConfigurationError(
                    f"{words[0]} {word}: -{letter} {_DEFEATING[letter]}, so nothing would be gated"
                )
            if letter in "cm":
                return (*taken, word[:position]) if position > 1 else tuple(taken)
            if letter in "hV?":
                return ()
            if letter in "WX":
                taken += [word] if word[position + 1 :] else [word, next(rest, "")]
                break
        else:
            taken.append(word)
    return tuple(taken)
