"""Servers that refuse requests for a stream's usage."""

from spanhook.instrument.wire.servers import Server

_STATUSES = (400, 422)
_OPTION = "stream_options"
_MAX_KEPT = 1000
_servers: set[Server] = set()


def refuses_option(error: BaseException) -> bool:
    """Whether a server has refused a request because of ``stream_options``."""
    return getattr(error, "status_code", None) in _STATUSES and _OPTION in str(error)


def remember_refusal(server: Server) -> None:
    """Do not ask this server again in this process."""
    if len(_servers) < _MAX_KEPT:
        _servers.add(server)


def refusals() -> set[Server]:
    """The servers that have refused one."""
    return _servers
