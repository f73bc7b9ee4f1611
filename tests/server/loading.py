"""Callers that change everything the server keeps, at once, and remember what was acknowledged."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from spanhook.errors import StoreError
from spanhook.store import ApprovalRequest, open_approvals

TRACE, START = "0af7651916cd43dd8448eb211c80319c", 1_700_000_000_000_000_000
SETTINGS = "rate: 1000000/minute\n"
WRITERS = 32
HOOK = {
    "name": "guard",
    "event_type": "tool.execute.pre",
    "handler_ref": "spanhook.hooks.tool_policy:ToolPolicy",
    "config": {"default": "deny"},
}


def span(run: str, trace: str = TRACE, tenant: str = "globex") -> dict[str, Any]:
    texts = {
        "spanhook.kind": "agent.invoke", "spanhook.status": "success", "spanhook.run.id": run,
        "spanhook.tenant.id": tenant, "gen_ai.agent.name": "desk",
    }  # fmt: skip
    return {
        "traceId": trace, "spanId": "b7ad6b7169203331", "name": "invoke_agent desk", "kind": 1,
        "startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 10**9),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in texts.items()],
    }  # fmt: skip


def request(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


class Load:
    """What was acknowledged.

    Attributes:
        runs: Runs of traces that were sent.
        descriptions: Descriptions that the hook was given.
        approved: Requests for approval that were approved.
        refused: Answers that were none of success: status, ``Retry-After`` and body.
    """

    def __init__(self, url: str, database: str, hook: str) -> None:
        self.url, self.database, self.hook = url, database, hook
        self.runs, self.descriptions, self.approved = set[str](), set[str](), set[str]()
        self.refused = list[tuple[int, str, str]]()
        self._ended = threading.Event()
        self._enough = threading.Semaphore(0)

    @property
    def acknowledged(self) -> int:
        return len(self.runs) + len(self.descriptions) + len(self.approved)

    def wait_for(self, number: int) -> None:
        """Wait until so many changes more were acknowledged, and some of each kind."""
        while number > 0 or not (self.runs and self.descriptions and self.approved):
            assert self._enough.acquire(timeout=120)
            number -= 1

    def end(self) -> None:
        self._ended.set()

    def write(self, writer: int) -> None:
        """Change things until the server is gone, or told to end."""
        with httpx.Client(base_url=self.url, timeout=60) as client:
            for number in range(10_000):
                if self._ended.is_set():
                    return
                try:
                    self._change(client, f"{writer}-{number}", (writer + number) % 4)
                except httpx.HTTPError:
                    return
                except StoreError:  # the file is busy: nobody was told that the request was kept
                    continue

    def _change(self, client: httpx.Client, name: str, what: int) -> None:
        if what == 0:
            response = client.put(f"/v1/hooks/{self.hook}", json={"description": name})
            done = self.descriptions
        elif what == 1:
            request = ApprovalRequest(name, f"binding of {name}", policy="p", tool="t", arguments="{}")
            open_approvals(self.database).ask(request, 3600)
            response, done = client.post(f"/v1/approvals/{name}/approve", json={"reason": "x"}), self.approved
        else:
            response, done = send(client, name), self.runs
        if response.status_code == 200:
            done.add(name)
            self._enough.release()
        else:
            self.refused.append((response.status_code, response.headers.get("Retry-After", ""), response.text))


def send(client: httpx.Client, run: str, **more: Any) -> httpx.Response:
    """Send a run of one span, in a trace of its own."""
    trace = run.encode().hex()[-32:].rjust(32, "a")
    return client.post("/v1/traces", content=request({**span(run, trace, ""), **more}), headers=JSON)


JSON = {"Content-Type": "application/json"}


@contextmanager
def load(url: str, database: str) -> Generator[Load]:
    """32 callers at once, until the block ends or the server does."""
    made = httpx.post(f"{url}/v1/hooks", json=HOOK, timeout=60)
    assert made.status_code == 201, made.text
    found = Load(url, database, made.json()["hook_id"])
    threads = [threading.Thread(target=found.write, args=(writer,)) for writer in range(WRITERS)]
    for one in threads:
        one.start()
    try:
        yield found
    finally:
        found.end()
        for one in threads:
            one.join()


def settings(folder: Path, **more: Any) -> str:
    """A file with settings that limit no rate."""
    path = folder / "server.yaml"
    path.write_text(SETTINGS + "".join(f"{name}: {json.dumps(value)}\n" for name, value in more.items()))
    return str(path)


def everything(client: httpx.Client, path: str, key: str) -> list[Any]:
    """All pages of a list."""
    found, cursor = list[Any](), ""
    while True:
        page = client.get(path, params={"limit": 100} | ({"cursor": cursor} if cursor else {})).json()
        found += page[key]
        cursor = page["next_cursor"]
        if not cursor:
            return found
