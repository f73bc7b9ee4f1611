"""FastAPI behind uvicorn with three workers: each gates, and each has its own count."""

from collections import Counter
from pathlib import Path

import pytest

from tests.servers.uvicorn_server import workers

APP = """
import os

import spanhook
from fastapi import Depends, FastAPI, Header
from spanhook import Hooks, Operation, Reject

hooks = Hooks()


@hooks.before("request", names={"/ask"})
def quota(op: Operation) -> None:
    if op.identity.user_id != "ada":
        raise Reject(f"not {op.identity.user_id}", status_code=402)


spanhook.instrument(hooks, require=["fastapi"])


def user(request: "Request", authorization: str = Header("")) -> str:
    request.state.user_id = authorization
    return authorization


from fastapi import Request  # noqa: E402

app = FastAPI()


@app.get("/up")
def up() -> str:
    return "up"


@app.get("/ask")
def ask(user: str = Depends(user)) -> dict:
    return {"user": user, "worker": os.getpid()}
"""


@pytest.mark.slow
def test_three_workers(tmp_path: Path) -> None:
    (tmp_path / "three.py").write_text(APP)
    served: Counter[int] = Counter()
    with workers(tmp_path, "three:app", 3) as client:
        for _ in range(100):
            refused = client.get("/ask", headers={"authorization": "eve"})
            assert (refused.status_code, refused.json()) == (402, {"detail": "not eve"})
            let = client.get("/ask", headers={"authorization": "ada"})
            assert let.status_code == 200
            served[let.json()["worker"]] += 1
            if len(served) == 3:
                break
    assert len(served) == 3
