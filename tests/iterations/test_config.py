"""What iteration hooks can be told to do, and what is no such setting."""

from dataclasses import asdict
from typing import Any

import pytest
import yaml

from spanhook import ConfigurationError
from spanhook.iterations import HookConfig


def test_everything_is_on_by_default() -> None:
    assert asdict(HookConfig()) == {
        "enabled": True,
        "on_iteration_start": True,
        "on_iteration_end": True,
        "on_error": True,
        "on_completion": True,
        "context_frames": 10,
        "include_errors_in_context": True,
        "include_decisions_in_context": True,
        "max_error_context": 2000,
    }


def test_settings_are_read_from_yaml() -> None:
    said = yaml.safe_load("hooks: {on_error: false, context_frames: 3}")
    assert HookConfig.of(said["hooks"]) == HookConfig(on_error=False, context_frames=3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"on_eror": True}, "no setting 'on_eror'; expected one of enabled, on_iteration_start"),
        ({"enabled": "false"}, r"HookConfig\(enabled='false'\): expected True or False"),
        ({"context_frames": -1}, r"HookConfig\(context_frames=-1\): expected a number from 0 to 1000"),
        ({"context_frames": 10**6}, "expected a number from 0 to 1000"),
        ({"max_error_context": True}, r"HookConfig\(max_error_context=True\): expected a number"),
    ],
)
def test_a_wrong_setting_says_what_is_expected(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        HookConfig.of(given)
