"""The service that settings name."""

from spanhook.hooks.remote_policy._config import Config
from spanhook.hooks.remote_policy._opa import OPA, Plain
from spanhook.hooks.remote_policy._services import Format, HTTPService, Service


def service_of(config: Config) -> Service:
    """What is asked.

    Raises:
        ConfigurationError: A file cannot be used, or a package is missing.
    """
    return HTTPService(config, _format(config))


def _format(config: Config) -> Format:
    match config.service:
        case "opa":
            return OPA()
        case _:
            return Plain()
