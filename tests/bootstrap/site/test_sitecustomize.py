"""``spanhook run``: the Python children of what is started are gated too."""

import sys
import time
import venv
from pathlib import Path

import pytest

from tests.commands import APP, OWN_TOOL, REJECTED, SPANHOOK, Folder, fetch
from tests.ports import free_port

GATED = ("run", "--hooks", "./hooks.py:hooks")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with nothing installed."""
    path = tmp_path_factory.mktemp("bare")
    venv.create(path, with_pip=False, symlinks=True)
    return path


IN_CHILD = """
import multiprocessing, sys
from tool import attempt

def work(queue):
    queue.put(attempt())

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    print(queue.get(timeout=60))
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("hooks", ["./hooks.py:hooks", "elsewhere/hooks.py:hooks"])
def test_multiprocessing(folder: Folder, method: str, hooks: str) -> None:
    folder.agent().write(work=IN_CHILD)
    folder.file("elsewhere/hooks.py", "import tool\n" + (folder.path / "hooks.py").read_text())
    folder.file("other/empty.txt", "")

    started = Folder(folder.path / "other").spanhook("run", "--hooks", f"../{hooks}", "../work.py", method)

    assert (started.returncode, started.stdout.strip()) == (0, REJECTED), started.stderr
    assert not started.stderr
    assert not (folder.path / "other/BODY_RAN").exists()


@pytest.mark.slow
def test_subprocess_in_another_folder(folder: Folder) -> None:
    folder.agent().file("deep/nothing.txt", "")
    folder.file(
        "parent.py",
        "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '../app.py'], cwd='deep'))",
    )

    ran = folder.spanhook(*GATED, "parent.py")

    assert ran.stdout.strip() == REJECTED, ran.stderr
    assert not (folder.path / "deep/BODY_RAN").exists()


WSGI = """
from tool import attempt

early = attempt()

def app(environ, start_response):
    start_response("200 OK", [("content-type", "text/plain")])
    return [f"{early} / {attempt()}".encode()]
"""

ASGI = """
import os
from tool import attempt

open(f"worker-{os.getpid()}", "w").write(attempt())

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": attempt().encode()})
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--preload"]], ids=["", "preload"])
def test_gunicorn_workers(folder: Folder, options: list[str]) -> None:
    folder.agent().write(served=WSGI)
    port = free_port()
    command = [
        str(Path(sys.executable).parent / "gunicorn"),
        *options,
        "-w",
        "2",
        "-b",
        f"127.0.0.1:{port}",
        "served:app",
    ]

    with folder.server(*SPANHOOK, *GATED, "--", *command, port=port):
        answers = {fetch(port) for _ in range(6)}

    assert answers == {f"{REJECTED} / {REJECTED}"}
    assert not folder.body_ran


@pytest.mark.slow
def test_uvicorn_workers(folder: Folder) -> None:
    folder.agent().write(served=ASGI)
    port = free_port()
    command = [str(Path(sys.executable).parent / "uvicorn"), "--workers", "2", "--port", str(port), "served:app"]

    with folder.server(*SPANHOOK, *GATED, "--", *command, port=port):
        deadline = time.monotonic() + 60
        while len(list(folder.path.glob("worker-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        workers = [path.read_text() for path in folder.path.glob("worker-*")]
        answers = {fetch(port) for _ in range(6)}

    assert workers == [REJECTED, REJECTED]
    assert answers == {REJECTED}
    assert not folder.body_ran


@pytest.mark.slow
def test_tools_in_other_pythons_are_left_alone(folder: Folder, bare: Path) -> None:
    folder.agent(OWN_TOOL).file(
        "app.py", f"import subprocess\nprint(subprocess.call(['{bare}/bin/python', '-c', 'print(1)']))\n{APP}"
    )

    ran = folder.spanhook(*GATED, "app.py")

    assert ran.stdout.splitlines() == ["1", "0", REJECTED], ran.stderr
    assert not ran.stderr


@pytest.mark.slow
def test_a_python_with_a_gated_library_but_no_spanhook_does_not_start(folder: Folder, tmp_path: Path) -> None:
    other = tmp_path / "other"
    venv.create(other, with_pip=False, symlinks=True)
    (next((other / "lib").glob("python*/site-packages")) / "openai.py").write_text("")
    folder.agent(OWN_TOOL).file(
        "app.py", f"import subprocess\nprint(subprocess.call(['{other}/bin/python', '-c', 'print(1)']))"
    )

    ran = folder.spanhook(*GATED, "app.py")

    assert ran.stdout == "2\n"
    assert "bin/python has no spanhook, so what it runs would not be gated" in ran.stderr
