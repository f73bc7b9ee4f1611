"""The contract's own emitter, which composes verdicts, consults approvers and makes records, as a host needs it."""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, cast

from spanhook.errors import ConfigurationError
from spanhook.hooks.agent_hooks._config import Config, Interceptor
from spanhook.hooks.agent_hooks._failures import Heard, tell_failure, tell_unbound
from spanhook.hooks.agent_hooks._interceptors import AtOnce, function, interceptor, loaded
from spanhook.hooks.approval import Asking

_log = logging.getLogger("spanhook.agent_hooks")
DEFAULT_IDENTITY = "jcs-sha256"
_CAPABILITIES = (
    "model_calls",
    "tool_calls",
    "parallel_tool_calls",
    "streaming",
    "int64_json",
    "bigint_json",
    "host_declaration",
)
_BOUND = "none: the text of a stream is released after a verdict that covers it"
_OURS = "spanhook"
"""By what a declaration refers to the settings ``approval`` and ``redact``."""
KIND = "spanhook.hooks.agent_hooks"
"""The kind of a binding in a declaration whose ``config`` is an interceptor in the settings of ``agent_hooks``."""


def sdk() -> Any:
    """The contract's SDK.

    Raises:
        ConfigurationError: It is not installed.
    """
    if find_spec("agent_hooks") is None:
        raise ConfigurationError('agent_hooks needs agent-hooks-sdk; pip install "spanhook[agent-hooks]"')
    return import_module("agent_hooks")


def surface_of(config: Config) -> Any:
    """What a host with these settings can honour, as the contract's ``HostSurface``."""
    incremental = config.streams == "incremental"
    capabilities = (*_CAPABILITIES, "incremental_output") if incremental else _CAPABILITIES
    made = replace(sdk().HostSurface.from_capabilities(capabilities, config.tool_failure), streams_unbuffered=True)
    return made.with_exposure_bound(_BOUND) if incremental else made


def emitter_of(config: Config, registry: Any, approval: Any) -> Any:
    """The emitter.

    Args:
        config: The settings.
        registry: What a declaration may refer to; ``None`` for interceptors in the settings of ``agent_hooks``.
        approval: The resolver that the settings name, if they do.

    Raises:
        ConfigurationError: Something cannot be found or used, or the declaration is refused.
    """
    emitter = _made(config, registry, approval)
    if config.streams == "incremental":
        for bound in emitter._interceptors:
            bound.interceptor = AtOnce(bound.interceptor)
    return emitter


def _made(config: Config, registry: Any, approval: Any) -> Any:
    contract, cls = sdk(), _class()
    if config.declaration is not None:
        return _declared(cls, contract, config, registry, approval)
    given = config.composition.model_dump(exclude_none=True)
    try:
        emitter = cls(
            mode=contract.EnforcementMode(config.mode),
            resolver=approval,
            timeout=config.timeout,
            composition=contract.CompositionConfig.from_wire(given),
            identity_provider=_identity(contract, config.identity),
        )
    except ValueError as error:
        raise ConfigurationError(f"identity: {error}") from None
    if isinstance(config.approval, Asking):
        emitter._resolver_timeout = None  # it has a limit of its own
    for one in config.interceptors:
        _register(emitter, one, config.timeout)
    if config.unbound == "allow":
        _fill(emitter, contract, config)
    if config.redact is not None:
        emitter.set_approval_redactor(function(config.redact, "redact"))
    return emitter


def _register(emitter: Any, given: Interceptor, timeout: float | None) -> None:
    emitter.register(interceptor(given, timeout), given.name or None, given.at)


def _fill(emitter: Any, contract: Any, config: Config) -> None:
    """Let pass, expressly, what no interceptor is bound to."""
    bound: set[str] = set()
    for one in config.interceptors:
        bound |= {point.value for point in contract.InterceptionPoint} if one.at is None else set(one.at)
    free = [point for point in contract.InterceptionPoint if point.value not in bound]
    if free:

        def let_pass(_context: Any) -> Any:
            return contract.ALLOW

        emitter.register(SimpleNamespace(intercept=let_pass), "unbound", free)


def _identity(contract: Any, given: Any) -> Any:
    if given is None or given == DEFAULT_IDENTITY or isinstance(given, contract.IdentityProvider):
        return given
    found = loaded(given)
    if isinstance(found, contract.IdentityProvider):
        return found
    named = function(found, "identity")
    return contract.IdentityProvider(getattr(named, "__name__", "").strip("_"), named)


# ----------------------------------------------------------------------------------------------- declarations


def _declared(cls: Any, contract: Any, config: Config, registry: Any, approval: Any) -> Any:
    known = registry
    if known is None:
        known = contract.HostRegistry(surface_of(config)).kind(KIND, _binding)
        if approval is not None:
            known.approval_resolver(_OURS, approval)
        if config.redact is not None:
            known.approval_redactor(_OURS, function(config.redact, "redact"))
    try:
        given: Any = config.declaration
        if isinstance(given, Mapping):
            return cls.from_declaration_value(dict(cast("Mapping[str, Any]", given)), known)
        return cls.from_declaration_path(given, known)
    except contract.DeclarationError as error:
        raise ConfigurationError(f"declaration: {error}") from error


def _binding(settings: Any, binding: Any) -> Any:
    return interceptor(Interceptor.model_validate({**settings, "name": binding.id}), binding.timeout)


# ----------------------------------------------------------------------------------------------- the class


def _class() -> Any:
    """The SDK's emitter, as this host needs it.

    Its version is pinned exactly, so what it has of its own can be overridden: records are not kept, as sessions last
    as long as the process; and a change of an agent's output, which is read-only here, is denied.
    """
    contract = sdk()
    base: Any = contract.InterceptionEmitter

    def fold(self: Any, context: dict[str, Any], verdict: Any) -> Any:
        if context.get("interception_point") == "output" and self.mode is contract.EnforcementMode.ENFORCE:
            return contract.Verdict.host_error(contract.HostError.ADAPTER_UNSUPPORTED)
        return base._fold_transform(self, context, verdict)

    async def invoke(self: Any, bound: Any, context: dict[str, Any]) -> Any:
        heard = Heard(bound.interceptor)
        verdict = await base._invoke(self, replace(bound, interceptor=heard), context)
        tell_failure(bound, context["interception_point"], verdict, heard.error)
        return verdict

    def append(self: Any, record: Any) -> Any:
        most = self._max_records
        if record.verdict.reason == contract.HostError.NO_INTERCEPTOR.value:
            tell_unbound(record.interception_point.value)
        if self._record_sink is not None:
            _tell(self._record_sink, record)
        if most is not None:
            self._records = list(deque([*self._records, record], maxlen=max(most, 1)))
        return record

    def deny(self: Any, context: dict[str, Any], error: str) -> Any:
        """Record a denial that is the host's own; nobody is asked."""
        outcome = import_module("agent_hooks.emitter")._Outcome(contract.Verdict.host_error(contract.HostError(error)))
        try:
            identity = self._compute_identity(context)
        except Exception:
            identity = None
        return self._append(self._finalize(context, outcome, identity))

    members = {"_fold_transform": fold, "_invoke": invoke, "_append": append, "deny": deny, "__slots__": ()}
    return type("Emitter", (base,), members)


def _tell(sink: Callable[[Any], Any], record: Any) -> None:
    """What a sink raises changes nothing that has been decided."""
    try:
        sink(record)
    except Exception as error:
        _log.warning("a record of agent_hooks was not taken: %s", type(error).__name__)
