"""The services of the stack, their addresses, and readiness checks."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from spanhook.errors import ConfigurationError

_ASK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Service:
    """A service: its name, address, readiness path and purpose."""

    name: str
    url: str
    path: str
    about: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A service's answer: ready, or why not."""

    service: Service
    ready: bool
    text: str

    def as_json(self) -> dict[str, object]:
        return {"name": self.service.name, "url": self.service.url, "ready": self.ready, "answer": self.text}


#: As docker-compose.yml publishes them.
SERVICES = (
    Service("collector", "http://127.0.0.1:13133", "/", "takes OTLP"),
    Service("prometheus", "http://127.0.0.1:9090", "/-/ready", "metrics and alert rules"),
    Service("alertmanager", "http://127.0.0.1:9093", "/-/ready", "alerts"),
    Service("tempo", "http://127.0.0.1:3200", "/ready", "traces"),
    Service("loki", "http://127.0.0.1:3100", "/ready", "log events"),
    Service("grafana", "http://127.0.0.1:3000", "/api/health", "dashboards"),
)
OTLP_HTTP = "http://127.0.0.1:4318"
OTLP_GRPC = "http://127.0.0.1:4317"
DASHBOARDS = {
    "Agents": "spanhook-agents",
    "Usage": "spanhook-usage",
    "Tools": "spanhook-tools",
    "Hooks and policy": "spanhook-hooks",
    "Pipeline": "spanhook-pipeline",
}


def placed(addresses: Sequence[str]) -> tuple[Service, ...]:
    """The services, some at other addresses.

    Args:
        addresses: Items of the form ``name=url``.

    Raises:
        ConfigurationError: An item does not have that form, or names no service.
    """
    elsewhere: dict[str, str] = {}
    names = [service.name for service in SERVICES]
    for one in addresses:
        name, _, url = one.partition("=")
        if name not in names or not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"--address {one!r}: expected NAME=http://..., NAME one of {', '.join(names)}")
        elsewhere[name] = url.rstrip("/")
    return tuple(replace(service, url=elsewhere.get(service.name, service.url)) for service in SERVICES)


def asked(wanted: Sequence[Service]) -> list[Answer]:
    """The answers of all services, queried in parallel."""
    with ThreadPoolExecutor(len(wanted) or 1) as pool:
        return list(pool.map(_ask, wanted))


def _ask(service: Service) -> Answer:
    # these are local or named by the user, so no proxy is used
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{service.url}{service.path}", timeout=_ASK_SECONDS):
            return Answer(service, True, "ready")
    except urllib.error.HTTPError as error:
        error.close()
        return Answer(service, False, f"answers {error.code}, not ready yet")
    except urllib.error.URLError as error:
        return Answer(service, False, _why(error.reason))
    except (OSError, http.client.HTTPException) as error:
        return Answer(service, False, _why(error))


def _why(reason: object) -> str:
    match reason:
        case ConnectionRefusedError():
            return "nobody listens"
        case TimeoutError():
            return f"no answer in {_ASK_SECONDS:g} s"
        case _:
            return str(reason) or type(reason).__name__
