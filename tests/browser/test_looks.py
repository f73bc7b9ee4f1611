"""Every page, on every screen: axe-core finds nothing, nothing is wider than the screen, and screenshots are kept."""

import re
from collections.abc import Callable

import pytest

from spanhook.server.app import page_routes
from tests.browser.filling import SHADOW_RUN, SHOWN_JOB
from tests.browser.viewing import SCREENS, Screen, Viewer
from tests.server.serving import Served

pytestmark = pytest.mark.browser

LEAD_ON = ("/login", "/static", "/events")
"""What begins like this is no page, or leads on to another where there is no authentication."""
MORE = {
    "no run": "/runs?agent=nobody",
    "runs of an agent": "/runs?agent=desk&status=error",
    "new hook with settings": "/hooks/new?handler=spanhook.hooks.rate_limit:RateLimit",
    "no job": "/jobs?status=failed&agent=nobody",
    "a job that runs": f"/jobs/job_{3:032x}",
    "no approval": "/approvals?status=denied",
}


def paths(server: Served) -> dict[str, str]:
    """Each page there is, by a name for its screenshot."""
    shown = [one.path for one in page_routes() if "GET" in (one.methods or ())]
    routes = sorted(one for one in shown if one != "/" and not one.startswith(LEAD_ON))
    hook = server.client.get("/v1/hooks").json()["hooks"][0]["hook_id"]
    found = {path: path.format(hook_id=hook, run_id=SHADOW_RUN, job_id=SHOWN_JOB) for path in routes}
    return {re.sub(r"\W+", "-", name).strip("-"): path for name, path in {**found, **MORE}.items()}


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_every_page_can_be_used_by_everybody(filled: Served, view: Callable[..., Viewer], screen: Screen) -> None:
    viewer, found = view(filled, screen), dict[str, list[str]]()
    for name, path in paths(filled).items():
        viewer.open(path)
        viewer.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found[path] = viewer.barriers()
        viewer.keep(name)
    viewer.open("/runs/none", status=404)
    found["problem"] = viewer.barriers()
    viewer.keep("problem")
    assert {path: barriers for path, barriers in found.items() if barriers} == {}
