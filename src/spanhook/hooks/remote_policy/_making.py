"""The service that settings name."""

from spanhook.hooks.remote_policy._agent_hooks import AgentHooks
from spanhook.hooks.remote_policy._cedar import Cedar
from spanhook.hooks.remote_policy._config import Config
from spanhook.hooks.remote_policy._datadog import Datadog
from spanhook.hooks.remote_policy._grafana import Grafana
from spanhook.hooks.remote_policy._moderation import GuardModel, Moderation
from spanhook.hooks.remote_policy._opa import OPA, Plain
from spanhook.hooks.remote_policy._rego import Rego
from spanhook.hooks.remote_policy._services import HTTPService, Service


def service_of(config: Config) -> Service:
    """What is asked.

    Raises:
        ConfigurationError: A file cannot be used, or a package is missing.
    """
    match config.service:
        case "cedar":
            return Cedar(config)
        case "rego":
            return Rego(config)
        case "opa":
            return HTTPService(config, OPA())
        case "http":
            return HTTPService(config, Plain())
        case "agent_hooks":
            return HTTPService(config, AgentHooks())
        case "grafana":
            return HTTPService(config, Grafana())
        case "datadog":
            return HTTPService(config, Datadog())
        case "moderation":
            return HTTPService(config, Moderation(config.model))
        case "guard_model":
            return HTTPService(config, GuardModel(config.model))
