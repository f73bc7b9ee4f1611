"""The hook: asks, and does what the verdict says."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from spanhook.errors import Reject, StoreError
from spanhook.gating import Hook, handler, validated
from spanhook.hooks.approval import Approval
from spanhook.hooks.remote_policy._asking import Asking
from spanhook.hooks.remote_policy._config import Config
from spanhook.hooks.remote_policy._facts import facts_of
from spanhook.hooks.remote_policy._making import service_of
from spanhook.hooks.remote_policy._verdict import PolicyError, UnreadableAnswer, Unsendable, Verdict
from spanhook.model import REPLACEABLE, Operation

_GRACE_S = 1.0
_CHANGED = "changed as the policy says"


@handler
class RemotePolicy(Hook):
    """Asks a policy engine or a guardrail service before each call, after it, or both, and does what it says.

    Whatever is not understood of an answer denies, and so does what cannot be asked about. If there is no answer,
    ``fail_mode`` decides; it is closed unless set.

    Args:
        service: What is asked, by the format that it speaks: ``"opa"``, ``"http"`` for a service of your own,
            ``"agent_hooks"``, ``"grafana"``, ``"datadog"``, ``"moderation"``, ``"guard_model"``; or, in the process,
            ``"cedar"`` and ``"rego"``.
        url: The address that is asked, in full.
        send: What the policy is told besides kind, phase and name.
        check: What is checked: ``"request"``, ``"result"`` or both.
        kinds: Kinds of operation; by default model calls and tools, or, if the service judges content, those of the two
            whose content ``send`` names.
        headers: Headers to send.
        headers_env: Headers whose values are in environment variables, by the names of these.
        timeout: Seconds for an answer, all attempts together.
        retries: How often to ask again after a lost connection, or status 429 or 500 on.
        failures: Stop asking after so many failures in a row; ``None``: never.
        open_for: Seconds for which the service is not asked then.
        reason: The reason that the caller gets.
        status_code: The HTTP status of a refusal.
        scope: What is refused: this ``"operation"``, or also everything else in its ``"run"``.
        component, policy_id, policy_version: The service and its policy, in telemetry.
        model: The model, for ``moderation`` and ``guard_model``.
        policies: Files with Cedar policies or Rego modules.
        data: A file with Cedar's entities or Rego's data, as JSON.
        cedar_schema: A file with Cedar's schema.
        query: What is asked in Rego, such as ``data.agents.allow``.
        approval: How a person is asked if the policy says so: settings of ``approval``, except for its store.
        store: Where such requests are kept.

    Raises:
        ConfigurationError: A setting or a file cannot be used, or a package is missing.
    """

    name = "remote_policy"
    priority = 45  # behind what redacts and scans, so that it is told no more than the model or the tool
    fail_mode = "closed"
    _not_replayed = "what the service would answer"

    Config = Config

    def __init__(
        self,
        service: str,
        url: str = "",
        send: Iterable[str] = (),
        *,
        check: Iterable[Literal["request", "result"]] = ("request",),
        kinds: Iterable[str] | None = None,
        headers: Mapping[str, str] | None = None,
        headers_env: Mapping[str, str] | None = None,
        timeout: float = 1.0,
        retries: int = 1,
        failures: int | None = 5,
        open_for: float = 30,
        reason: str = "",
        status_code: int = 403,
        scope: Any = "operation",
        component: str = "",
        policy_id: str = "",
        policy_version: str = "",
        model: str = "",
        policies: Iterable[str] = (),
        data: str = "",
        cedar_schema: str = "",
        query: str = "",
        approval: Any = None,
        store: str = "memory://",
    ) -> None:
        given: dict[str, Any] = {
            "service": service,
            "url": url,
            "send": _listed(send),
            "check": _listed(check),
            "kinds": None if kinds is None else _listed(kinds),
            "headers": dict(headers or {}),
            "headers_env": dict(headers_env or {}),
            "timeout": timeout,
            "retries": retries,
            "failures": failures,
            "open_for": open_for,
            "reason": reason,
            "status_code": status_code,
            "scope": scope,
            "component": component,
            "policy_id": policy_id,
            "policy_version": policy_version,
            "model": model,
            "policies": _listed(policies),
            "data": data,
            "cedar_schema": cedar_schema,
            "query": query,
            "approval": approval,
            "store": store,
        }
        config: Config = validated(Config, given, "remote_policy")
        self._config = config
        self._asking = Asking(config, service_of(config))
        asked = config.approval
        self._approval = None if asked is None else Approval(**asked.model_dump(), store=config.store)
        self._key = f"spanhook.remote_policy.{id(self):x}"
        self.kinds = tuple(config.checked)
        self.body = "body" in config.send
        self.stream = "buffer" if "result" in config.check else "observe"
        self.timeout = config.timeout + _GRACE_S if self._approval is None else None

    async def before(self, op: Operation) -> None:
        """Ask before the call.

        Raises:
            Reject: The policy denies it, or its answer is not understood.
            PolicyError: The policy has not decided.
        """
        if "request" in self._config.check:
            await self._check(op)

    async def after(self, op: Operation) -> None:
        """Ask after the call, before its result goes out.

        Raises:
            Reject: The policy withholds it, or its answer is not understood.
            PolicyError: The policy has not decided.
        """
        if self._approval is not None:
            await self._approval.after(op)
        if "result" in self._config.check and op.status != "interrupted":
            await self._check(op)

    def _fails_with(self, error: Exception, reason: str, status_code: int) -> Exception:
        if isinstance(error, StoreError):
            reason, status_code = f"Approval for policy {self.name!r} cannot be asked for now", 503
        retry_after = None
        if isinstance(error, PolicyError):
            status_code, retry_after = error.status_code, error.retry_after
            reason = f"Policy {self.name!r} cannot be asked now"
        failed = super()._fails_with(error, reason, status_code)
        if isinstance(failed, Reject) and retry_after is not None:
            failed.retry_after = retry_after
        return failed

    async def _check(self, op: Operation) -> None:
        config = self._config
        asked = op.run_state.setdefault(f"spanhook.remote_policy {self.name} {op.mode}", {"questions": 0})
        try:
            facts = facts_of(op, config.send, asked["questions"])
        except Unsendable as error:
            raise self._undecided(error) from error
        key = facts.key
        if op.state.get(self._key) == key:
            return  # asked again after a rewrite that changes nothing here
        asked["questions"] += 1
        try:
            verdict = await self._asking.ask(facts, self.name)
        except (UnreadableAnswer, Unsendable) as error:
            raise self._undecided(error) from error
        if verdict.decision == "escalate":
            await self._escalate(op, verdict)
        elif verdict.decision not in ("allow", "transform"):
            raise self._refusal(verdict)
        self._check_unchanged(op, key)
        op.state[self._key] = key
        if verdict.decision == "transform":
            self._change(op, verdict)

    def _check_unchanged(self, op: Operation, key: bytes) -> None:
        """Refuse the call if the application has changed it while the policy was asked."""
        if op.phase == "pre":
            op.refresh()
            if facts_of(op, self._config.send).key != key:
                raise Reject("The request was changed while its policy was asked", status_code=409)

    def _change(self, op: Operation, verdict: Verdict) -> None:
        changes = dict(verdict.changes or {})
        result = changes.pop("result", None)
        if op.phase == "post":
            if changes or op.kind not in REPLACEABLE:
                raise self._refusal(verdict)
            op.respond(result, reason=_CHANGED)
            return
        if changes:
            op.replace(**changes, reason=_CHANGED)
            op.state[self._key] = facts_of(op, self._config.send).key
        if result is not None:
            op.respond(result, reason="answered as the policy says")

    async def _escalate(self, op: Operation, verdict: Verdict) -> None:
        if self._approval is None or op.phase != "pre":
            raise self._refusal(verdict)
        self._approval.name = self.name
        await self._approval.before(op)

    def _undecided(self, error: UnreadableAnswer | Unsendable) -> Reject:
        """The refusal of what a caller may have brought about, and so must not get through even if this fails open."""
        unread = isinstance(error, UnreadableAnswer)
        said = f"The answer of policy {self.name!r} is not understood"
        reason = said if unread else f"Policy {self.name!r} cannot be asked about this"
        return Reject(reason, status_code=error.status_code)

    def _refusal(self, verdict: Verdict) -> Reject:
        config = self._config
        return Reject(
            config.reason or verdict.reason or f"Policy {self.name!r} does not allow this",
            status_code=config.status_code,
            scope="run" if verdict.ends_run else config.scope,
        )


def _listed(given: Any) -> Any:
    return given if isinstance(given, str) else list(given)
