# -*- coding: utf-8 -*-
"""Start-up code of every Python process under `spanhook run`: the interpreter imports it before the application.

It may be another Python than the one spanhook is installed for, of any version, so this file is plain.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
#: What spanhook gates. A Python that has none of it and no spanhook either is some tool: there is nothing to gate.
LIBRARIES = ("langchain_core", "langgraph", "openai")


def has(name):
    try:
        from importlib.util import find_spec

        return find_spec(name) is not None
    except Exception:
        return False


def next_one():
    """Run the sitecustomize that this one hides, as if it had been imported itself."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    del sys.modules["sitecustomize"]
    __import__("sitecustomize")  # an ImportError that names it is what the interpreter expects if there is none


def tracks_resources():
    """Whether this is the helper process of multiprocessing that runs nothing of the application."""
    code = "".join(getattr(sys, "orig_argv", [])[-1:])
    return code.startswith("from multiprocessing.resource_tracker import main;main(") and code[:-1].count(")") == 0


def start():
    if not has("spanhook"):
        if not any(has(library) for library in LIBRARIES):
            return
        stop("%s has no spanhook, and what it starts would not be gated; install it: %s -m pip install spanhook")
    try:
        import spanhook.bootstrap
    except BaseException as error:
        stop("spanhook cannot be imported by %s: " + ("%s: %s" % (type(error).__name__, error)).replace("%", "%%"))
    spanhook.bootstrap.start()


def stop(message):
    line = " ".join((message.replace("%s", str(sys.executable))).split())
    os.write(2, ("spanhook: %s\n" % line).encode("utf-8", "replace"))
    os._exit(2)


if os.environ.get("SPANHOOK_PROBE"):
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    os.write(1, b"spanhook found" if has("spanhook") else b"spanhook missing")
    os._exit(0)
try:
    next_one()
finally:
    if not tracks_resources():
        start()
