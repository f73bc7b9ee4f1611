"""Cedar in the process, by the package ``cedarpy``; see https://docs.cedarpolicy.com.

The principal is the user (``User::"u-1"``), the action the kind and phase (``Action::"tool.execute.pre"``), the
resource what is called (``Tool::"refund"``, ``Model::"gpt-4o"``, ``Agent::"desk"``); all else is in the context.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from spanhook.errors import ConfigurationError
from spanhook.hooks.remote_policy._config import Config
from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._files import contents
from spanhook.hooks.remote_policy._services import Address
from spanhook.hooks.remote_policy._verdict import UnreadableAnswer, Unsendable, Verdict

_TYPES = {"tool.execute": "Tool", "llm.call": "Model", "embeddings.create": "Model", "agent.invoke": "Agent"}
_ESCAPES = ("__entity", "__extn", "__expr")
"""Keys by which Cedar's JSON says that a value is something else, which data of a call must not do."""
_MOST_DIGITS = 4
"""Digits after the point that Cedar's decimals have."""
_LARGEST = 2**63


class Cedar:
    """Cedar's policies.

    An error in the evaluation of any policy denies: Cedar skips a policy with one, so a ``forbid`` would go unheeded.

    Args:
        config: The settings.

    Raises:
        ConfigurationError: A file cannot be used, or a package is missing.
    """

    address = Address()

    def __init__(self, config: Config) -> None:
        try:
            import cedarpy
        except ImportError:
            raise ConfigurationError(
                'service="cedar" needs the package cedarpy; pip install "spanhook[cedar]"'
            ) from None
        self._cedarpy: Any = cedarpy
        text = "\n".join(contents(path) for path in config.policies)
        schema = contents(config.cedar_schema) if config.cedar_schema else None
        entities = contents(config.data) if config.data else "[]"
        try:
            self._policies: Any = self._cedarpy.PolicySet.from_str(text)
            self._schema: Any = None if schema is None else self._cedarpy.Schema.from_str(schema)
            self._entities: Any = self._cedarpy.Entities.from_json_str(entities, self._schema)
        except ValueError as error:
            raise ConfigurationError(f"Cedar cannot read its files: {' '.join(str(error).split())[:300]}") from None

    async def ask(self, facts: Facts) -> Verdict:
        whole = facts.whole
        whole.pop("name")
        user = facts.text("identity.user_id")
        question = {
            "principal": {"type": "User", "id": user},
            "action": {"type": "Action", "id": f"{whole.pop('kind')}.{whole.pop('phase')}"},
            "resource": {"type": _TYPES.get(facts.kind, "Operation"), "id": facts.name},
            "context": _record(whole),
        }
        try:
            answer = self._cedarpy.is_authorized(question, self._policies, self._entities, self._schema)
            found = answer.diagnostics
            return _read(answer.decision.value, found.errors, found.reasons, found.id_annotations_by_reason)
        except UnreadableAnswer:
            raise
        except Exception as error:
            raise UnreadableAnswer(f"Cedar has failed: {type(error).__name__}") from None


def _read(decision: str, errors: list[str], reasons: list[str], names: Mapping[str, str]) -> Verdict:
    if errors:
        raise UnreadableAnswer("a policy, or the question, cannot be evaluated")
    if decision not in ("Allow", "Deny"):
        raise UnreadableAnswer("Cedar has not decided")
    policy = ",".join(names.get(one) or one for one in reasons)
    if decision == "Allow":
        return Verdict("allow", decision, policy_id=policy)
    about = f" ({policy})" if policy else ""
    return Verdict("deny", decision, reason=f"The policy does not allow this{about}", policy_id=policy)


def _record(value: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, one in value.items():
        if key in _ESCAPES:
            raise Unsendable(f"Cedar cannot be told of a key {key}")
        if one is not None:  # there is no null in Cedar; a key that is not there is the same
            made[key] = _value(one)
    return made


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _record(cast("dict[str, Any]", value))
    if isinstance(value, list):
        if None in value:
            raise Unsendable("Cedar cannot be told of a list with null in it")
        return [_value(one) for one in cast("list[Any]", value)]
    if isinstance(value, float):
        return {"__extn": {"fn": "decimal", "arg": _decimal(value)}}
    if type(value) is int and not -_LARGEST <= value < _LARGEST:
        raise Unsendable("a number is too large for Cedar")
    return value


def _decimal(value: float) -> str:
    """A number with a fraction as Cedar writes it. None is rounded, since that could change what is decided."""
    exact = Decimal(repr(value)) if math.isfinite(value) else Decimal("NaN")
    if not exact.is_finite() or abs(exact) >= Decimal(_LARGEST) / 10**_MOST_DIGITS:
        raise Unsendable("a number is too large for Cedar's decimals")
    if -int(exact.normalize().as_tuple().exponent) > _MOST_DIGITS:
        raise Unsendable(
            f"a number has more than {_MOST_DIGITS} digits after the point, which Cedar's decimals have not"
        )
    return f"{exact:.{_MOST_DIGITS}f}"
