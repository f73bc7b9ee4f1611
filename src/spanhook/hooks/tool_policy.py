"""Allows or denies tool calls by rules in order; the first that matches decides."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, field_validator

from spanhook.errors import ConditionError, ConfigurationError, Reject
from spanhook.gating import Facts, Hook, Looser, compile_condition, handler, united, validated
from spanhook.hooks._settings import Conflict, SettingsModel
from spanhook.model import Operation

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Id = Annotated[str, StringConstraints(max_length=200)]

MANY_CALLS, LONG_S = 1000, 3600.0
"""After so many calls, or so long, a rule that has matched no name is worth a remark."""
_TOOLS = "Names of tools; `*`, `?` and `[...]` are wildcards. Upper and lower case differ."


class Rule(SettingsModel):
    """Allows or denies tools. It matches a call if everything in it is true of the call."""

    model_config = ConfigDict(frozen=True)

    allow: list[Name] | None = Field(default=None, min_length=1, description=f"Allow these tools. {_TOOLS}")
    deny: list[Name] | None = Field(default=None, min_length=1, description=f"Deny these tools. {_TOOLS}")
    tenants: list[Id] | None = Field(
        default=None, min_length=1, description="Only for these tenants; `''` if not known."
    )
    users: list[Id] | None = Field(default=None, min_length=1, description="Only for these users; '' if not known.")
    agents: list[Id] | None = Field(default=None, min_length=1, description="Only inside these agents; '' for none.")
    when: str | None = Field(default=None, description="Only if this CEL condition holds.")
    reason: str = Field(default="", max_length=1000, description="The reason that the model gets if the rule denies.")
    status_code: int = Field(default=403, ge=400, le=599, description="The HTTP status of a denial.")

    @field_validator("when")
    @classmethod
    def _compiles(cls, when: str | None) -> str | None:
        if when is not None:
            try:
                compile_condition(when)
            except ConfigurationError as error:  # messages about settings quote the text already
                raise ValueError(str(error).removeprefix(f"condition {when!r}").lstrip(": ")) from None
        return when

    def conflicts(self) -> Iterator[Conflict]:
        if (self.allow is None) == (self.deny is None):
            yield Conflict("a rule has either 'allow' or 'deny'", ("allow", "deny"))
        elif self.allow is not None and {"reason", "status_code"} & self.model_fields_set:
            message = "'reason' and 'status_code' are for rules that deny"
            yield Conflict(message, ("allow", "deny", "reason", "status_code"))


def _less_denied(before: Sequence[Rule], now: Sequence[Rule]) -> Iterator[str]:
    """What rules no longer deny, or allow for the first time."""
    for number, rule in enumerate(before, 1):
        if rule.deny and not _is_covered(rule, rule.deny, [(one, one.deny) for one in now if one.deny]):
            yield f"rule {number} of {len(before)}, which denies, is gone or narrower"
    for number, rule in enumerate(now, 1):
        if rule.allow and not _is_covered(rule, rule.allow, [(one, one.allow) for one in before if one.allow]):
            yield f"rule {number} of {len(now)} allows what no rule allowed"
    if any(_is_passed(number, before, now) for number, rule in enumerate(before) if rule.deny):
        yield "the rules are in another order"


def _is_passed(number: int, before: Sequence[Rule], now: Sequence[Rule]) -> bool:
    """Whether a rule that allows comes before one that denies, and did not."""
    denying = before[number]
    allowing = [(one, one.allow) for one in before if one.allow]
    earlier = [(one, one.allow) for one in before[:number] if one.allow]
    for tool in denying.deny or ():
        places = (at for at, one in enumerate(now) if one.deny and _is_covered(denying, [tool], [(one, one.deny)]))
        for rule in now[: next(places, 0)]:
            same = [one for one in rule.allow or () if one == tool or _WILDCARD.search(one + tool)]
            if _is_covered(rule, same, allowing) and not _is_covered(rule, same, earlier):
                return True
    return False


def _is_covered(rule: Rule, tools: Sequence[str], others: Iterable[tuple[Rule, Sequence[str]]]) -> bool:
    """Whether rules of the same effect match all that one matches."""
    wide = [named for one, named in others if all(_is_as_wide(field, rule, one) for field in _FILTERS)]
    return all(any(tool in named or "*" in named for named in wide) for tool in tools)


_WILDCARD = re.compile(r"[*?\[]")
_FILTERS = ("tenants", "users", "agents", "when")


def _is_as_wide(field: str, rule: Rule, other: Rule) -> bool:
    was: Any = getattr(rule, field)
    now: Any = getattr(other, field)
    return now is None or now == was or (field != "when" and was is not None and set(was) <= set(now))


@handler
class ToolPolicy(Hook):
    """Allows or denies calls of tools by name, tenant, user, agent and arguments.

    The first rule that matches decides; ``default`` does if none matches. A condition that cannot be evaluated
    counts against the call: its rule matches if it denies, and does not if it allows. So does an unknown name.

    Args:
        rules: ``Rule`` objects or mappings of their fields, such as
            ``{"deny": ["refund"], "when": "arguments.amount > 50", "reason": "Refunds over 50 need a person"}``.
        default: What happens to calls that no rule matches: ``"allow"`` or ``"deny"``.

    Attributes:
        rules, default: As given. Do not change them.

    Raises:
        ConfigurationError: A rule cannot be used, or the policy could never deny anything.
    """

    kinds = ("tool.execute",)
    name = "tool_policy"
    priority = 50

    class Config(SettingsModel):
        """Settings of ``tool_policy``."""

        default: Annotated[Literal["allow", "deny"], Looser(("deny", "allow"))] = Field(
            default="allow", description="What becomes of calls that no rule matches."
        )
        rules: Annotated[list[Rule], Looser(_less_denied)] = Field(
            default=[], max_length=1000, description="In order; the first that matches decides."
        )

        def conflicts(self) -> Iterator[Conflict]:
            if self.default == "allow" and not any(rule.deny for rule in self.rules):
                message = "it would allow everything; write default: deny, or a rule that denies"
                yield Conflict(message, ("default", "rules"))

    def __init__(
        self, rules: Iterable[Rule | Mapping[str, Any]] = (), default: Literal["allow", "deny"] = "allow"
    ) -> None:
        given = {"rules": list(rules), "default": default}
        config = validated(self.Config, given, "tool_policy")
        self.default: Literal["allow", "deny"] = config.default
        self.rules: tuple[Rule, ...] = tuple(config.rules)
        self._rules = [_Compiled(number, rule) for number, rule in enumerate(self.rules, 1)]
        self._keys = united(rule.condition for rule in self._rules if rule.condition is not None)
        self._rules_for = lru_cache(maxsize=512)(self._find_rules)
        self._matched: set[int] = set()
        self._since = time.monotonic()

    def before(self, op: Operation) -> None:
        """Refuse the call unless a rule, or the default, allows it.

        Raises:
            Reject: It is denied; the reason is for the model to read.
        """
        facts = None
        left_out = ""
        for rule in self._rules_for(op.names):
            if rule.selective and not rule.concerns(op):
                continue
            if rule.condition is not None:
                facts = facts or Facts(op, self._keys)
                try:
                    if not rule.condition.holds(facts):
                        continue
                except ConditionError as error:
                    failed = f" (rule {rule.number} cannot be checked: it {error.why})"
                    if not rule.denies:
                        left_out = left_out or failed
                        continue
                    raise Reject(rule.reason_for(op) + failed, status_code=rule.status_code) from None
            if rule.denies:
                raise Reject(rule.reason_for(op) + left_out, status_code=rule.status_code)
            return
        if self.default == "deny":
            raise Reject(_not_allowed(op) + left_out)

    def _find_rules(self, names: tuple[str, ...]) -> "tuple[_Compiled, ...]":
        """The rules that may match a tool of these names."""
        found = tuple(rule for rule in self._rules if rule.is_for(names))
        self._matched.update(rule.number for rule in found)
        return found

    def _remarks(self) -> Iterator[str]:
        """The rules that have matched no name of a tool: these may be misspelt, or another library's."""
        known = self._rules_for.cache_info()
        calls = known.hits + known.misses
        if calls < MANY_CALLS and not (calls and time.monotonic() - self._since > LONG_S):
            return
        for number, rule in enumerate(self.rules, 1):
            if number not in self._matched:
                verb, names = ("denies", rule.deny) if rule.allow is None else ("allows", rule.allow)
                known_as = ", ".join(map(repr, (names or [])[:5]))
                yield f"rule {number}, which {verb} {known_as}, has matched no name in {calls:,} tool calls"


class _Compiled:
    """A rule as it is applied."""

    def __init__(self, number: int, rule: Rule) -> None:
        self.number = number
        self.denies = rule.deny is not None
        self.status_code = rule.status_code
        self.condition = compile_condition(rule.when) if rule.when is not None else None
        self._reason = rule.reason
        self._names = _matcher(rule.deny or rule.allow or [])
        self._tenants, self._users, self._agents = (
            None if globs is None else _matcher(globs) for globs in (rule.tenants, rule.users, rule.agents)
        )
        self.selective = any(one is not None for one in (rule.tenants, rule.users, rule.agents))

    def is_for(self, names: tuple[str, ...]) -> bool:
        """Whether it applies to a tool of these names. A tool without a name is denied by every rule that denies."""
        return any(map(self._names.match, names)) or (self.denies and not names[0])

    def concerns(self, op: Operation) -> bool:
        """Whether it applies to this tenant, user and agent."""
        identity = op.identity
        return (
            (self._tenants is None or bool(self._tenants.match(identity.tenant_id)))
            and (self._users is None or bool(self._users.match(identity.user_id)))
            and (self._agents is None or bool(self._agents.match(op.agent)))
        )

    def reason_for(self, op: Operation) -> str:
        return self._reason or _not_allowed(op)


def _matcher(globs: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(glob) for glob in globs))


def _not_allowed(op: Operation) -> str:
    return f"The tool {op.name!r} is not allowed here"
