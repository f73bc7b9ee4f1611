# noqa: INP001 - a folder to put on PYTHONPATH, no package
"""The start-up code of every Python process under `spanhook run`: the interpreter imports it before the application.

That Python may be another, older one than spanhook is installed for, so this file uses only plain Python.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
#: The file that lists what spanhook gates; it imports nothing.
DECLARATIONS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "instrument", "declarations.py")


def has(name: str) -> bool:
    try:
        from importlib.util import find_spec

        return find_spec(name) is not None
    except Exception:
        return False


def gated() -> bool:
    """Whether a library that spanhook gates is installed. A Python with neither such a library nor spanhook is some
    other tool.
    """
    found = {}
    with open(DECLARATIONS, encoding="utf-8") as source:
        text = source.read()
    try:
        exec(compile(text, DECLARATIONS, "exec"), found)  # noqa: S102 - a file of ours
    except SyntaxError:
        return False  # this Python is too old for any of them
    return any(has(one.module) for one in found["INSTRUMENTORS"].values())


def forget() -> None:
    """Remove our folder from sys.path. It stays in the environment, which child processes read."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]


def next_one() -> None:
    """Run the sitecustomize that this one hides, as if it had been imported directly."""
    sys.modules.pop("sitecustomize", None)
    __import__("sitecustomize")  # if there is none, the interpreter expects an ImportError that names it


def tracks_resources() -> bool:
    """Whether this is the helper process of multiprocessing, which runs no application code."""
    code = "".join(getattr(sys, "orig_argv", [])[-1:])
    return code.startswith("from multiprocessing.resource_tracker import main;main(") and code.count(";") == 1


def start() -> None:
    if not has("spanhook"):
        try:
            refused = "has no spanhook, so what it runs would not be gated; install it there" if gated() else ""
        except Exception as error:
            refused = "has no spanhook, and cannot tell what it would gate: " + type(error).__name__ + ": " + str(error)
        if refused:
            stop(refused)
        return
    try:
        from spanhook.bootstrap import start
    except BaseException as error:
        stop("cannot import spanhook: " + type(error).__name__ + ": " + str(error))
    else:
        start()


def stop(why: str) -> None:
    line = " ".join(("spanhook: " + sys.executable + " " + why).split())
    os.write(2, (line + "\n").encode("utf-8", "replace"))
    os._exit(2)


forget()
if os.environ.get("SPANHOOK_PROBE"):
    os.write(1, b"spanhook found" if has("spanhook") else b"spanhook missing")
    os._exit(0)
try:
    next_one()
finally:
    if not tracks_resources():
        start()
