"""Every mistake in the settings of a ready-made hook is reported at once, at the setting that it is about."""

from typing import Any

import pytest
from pydantic import ValidationError

from spanhook.gating import find, handler_of

MISTAKES: dict[str, tuple[str, dict[str, Any], list[tuple[str | int, ...]]]] = {
    "items, a pattern, a choice": (
        "pii_redaction",
        {
            "entities": ["EMAIL", "EMIAL", "FONE"],
            "patterns": {"A": "(", "B": "x*"},
            "stream": "windows",
            "kinds": ["iteration"],
        },
        [
            ("entities", 1),
            ("entities", 2),
            ("kinds", 0),
            ("patterns", "A"),
            ("patterns", "B"),
            ("stream",),
        ],
    ),
    "contradictions beside a field of another kind": (
        "pii_redaction",
        {"action": "placeholder", "keep_last": 2, "stream": "window", "media": "drop"},
        [("keep_last",), ("media",), ("stream",)],
    ),
    "an unknown key": ("budget", {"per": "run", "window": "day", "dollars": 3}, [(), ("dollars",), ("window",)]),
    "a limit that is invalid is not called missing": (
        "budget",
        {"usd": -1, "unpriced": "deny"},
        [("unpriced",), ("usd",)],
    ),
    "inside a list": (
        "tool_policy",
        {"rules": [{"allow": ["a"], "deny": ["b"], "status_code": 200}, {"deny": ["c"], "when": "1 +"}]},
        [("rules", 0, "deny"), ("rules", 0, "status_code"), ("rules", 1, "when")],
    ),
    "several contradictions": (
        "remote_policy",
        {"service": "opa", "query": "a.b", "data": "d.json", "retries": 99},
        [("data",), ("query",), ("retries",), ("service",)],
    ),
    "what depends on an invalid field is left out": (
        "remote_policy",
        {"service": "opal", "query": "a.b", "url": "nowhere"},
        [("service",), ("url",)],
    ),
    "never opens": ("circuit_breaker", {"failures": None, "per": "tool"}, [("failures",), ("per",)]),
    "refuses nothing": ("loop_guard", {"repeats": None, "cycles": None, "period": 0}, [("cycles",), ("period",)]),
    "a policy each": (
        "injection_scan",
        {"action": "reject", "apply_to": ["tools", "user_messages"], "threshold": 2},
        [("apply_to",), ("threshold",)],
    ),
    "said twice": (
        "agent_hooks",
        {"declaration": "a.json", "unbound": "allow", "timeout": 3, "segment": 0},
        [("segment",), ("timeout",), ("unbound",)],
    ),
}


@pytest.mark.every_value
@pytest.mark.parametrize(("hook", "settings", "places"), MISTAKES.values(), ids=MISTAKES)
def test_every_mistake_is_at_its_setting(
    hook: str, settings: dict[str, Any], places: list[tuple[str | int, ...]]
) -> None:
    marked = handler_of(find(hook))
    assert marked is not None
    assert marked.config is not None

    with pytest.raises(ValidationError) as caught:
        marked.config.model_validate(settings)

    assert sorted((one["loc"] for one in caught.value.errors()), key=repr) == sorted(places, key=repr)
