"""The control plane: hooks, runs, decisions, usage and approvals over HTTP.

It needs ``pip install "spanhook[server]"``. ``spanhook serve`` runs it.
"""

from importlib.util import find_spec

from spanhook.errors import ConfigurationError

_NEEDED = (
    "fastapi",
    "uvicorn",
    "jwt",
    "limits",
    "prometheus_client",
    "sqlalchemy",
    "aiosqlite",
    "alembic",
    "pydantic",
    "h11",
)
_missing = [
    name for name in (*_NEEDED, "yaml", "jinja2", "sse_starlette", "standardwebhooks") if find_spec(name) is None
]
if _missing:
    raise ConfigurationError(
        f'spanhook serve needs {", ".join(_missing)}, not installed here: pip install "spanhook[server]"'
    )

from spanhook.server.agent_events import notify_of_agents  # noqa: E402
from spanhook.server.app import create_app  # noqa: E402
from spanhook.server.audit import lines as audit_lines  # noqa: E402
from spanhook.server.job_events import tell_of_job  # noqa: E402
from spanhook.server.key_store import ApiKey, KeyStore  # noqa: E402
from spanhook.server.login import Login  # noqa: E402
from spanhook.server.running import serve  # noqa: E402
from spanhook.server.scopes import LOCAL, OF_TENANTS, OPERATORS, SCOPES, Principal, Scope  # noqa: E402
from spanhook.server.settings import ServerSettings, Tokens, read_settings  # noqa: E402
from spanhook.server.webhook_outbox import publish  # noqa: E402

__all__ = [
    "LOCAL",
    "OF_TENANTS",
    "OPERATORS",
    "SCOPES",
    "ApiKey",
    "KeyStore",
    "Login",
    "Principal",
    "Scope",
    "ServerSettings",
    "Tokens",
    "audit_lines",
    "create_app",
    "notify_of_agents",
    "publish",
    "read_settings",
    "serve",
    "tell_of_job",
]
