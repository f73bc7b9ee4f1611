"""A browser without scripts: it asks for web pages, keeps cookies, and sends the forms that it is shown."""

import html
import re
from typing import Any

import httpx

from tests.server.serving import Served

_TAG = re.compile(r"<[^>]*>")


class Browser:
    """A browser.

    Attributes:
        client: What sends its requests.
        page: The last page.
    """

    def __init__(self, server: Served, **headers: str) -> None:
        own = {"Accept": "text/html", "Connection": "close"}  # so that nothing stays open
        self.client = httpx.Client(base_url=server.url, timeout=60, headers={**own, **headers})
        self.url, self.page = server.url, httpx.Response(204)

    def open(self, path: str, **params: Any) -> str:
        """Open a page, wherever it leads. Returns its text without markup."""
        self.page = self.client.get(path, params=params or None, follow_redirects=True)
        return self.text

    def send(self, path: str, **fields: str) -> str:
        """Send a form of the page with its token, as a browser does. Returns the text of the page that follows."""
        origin = {"Origin": self.url, "Sec-Fetch-Site": "same-origin"}
        data = {"csrf": self.token, **fields}
        self.page = self.client.post(path, data=data, headers=origin, follow_redirects=True)
        return self.text

    @property
    def token(self) -> str:
        """The token of the page's forms."""
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.page.text)
        return found[1] if found else ""

    @property
    def text(self) -> str:
        """What can be read on the page."""
        return " ".join(html.unescape(_TAG.sub(" ", self.page.text)).split())

    @property
    def path(self) -> str:
        """Where the browser is."""
        return self.page.url.raw_path.decode()
