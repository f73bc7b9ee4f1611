"""Settings, in files and in code."""

from pathlib import Path
from typing import Any

import pytest

from spanhook import ConfigurationError
from spanhook.config import load_file
from spanhook.hooks.remote_policy import RemotePolicy


def test_a_file_configures_it(tmp_path: Path) -> None:
    file = tmp_path / "spanhook.yaml"
    file.write_text(
        "policies: [{use: remote_policy, id: refunds, tools: [refund], fail_mode: open, with: {service: opa, "
        "url: 'http://policy.internal/v1/data/a', send: [arguments], approval: {wait: 0}}}]"
    )
    [built] = load_file(str(file)).policies
    hook = built.hook
    assert isinstance(hook, RemotePolicy)
    assert (hook.name, hook.fail_mode, set(hook.names or ())) == ("refunds", "open", {"refund"})


URL = "http://policy.internal"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no such service": ({"service": "opaa", "url": URL}, "service"),
    "no url": ({"service": "opa"}, "opa needs url"),
    "odd url": ({"service": "opa", "url": "policy.internal"}, "expected an address"),
    "odd port": ({"service": "opa", "url": "http://a:b/"}, "expected an address"),
    "odd characters": ({"service": "opa", "url": "http://a/\x01"}, "cannot have"),
    "unknown fact": ({"service": "opa", "url": URL, "send": ["argument"]}, "unknown argument; expected"),
    "all headers": ({"service": "opa", "url": URL, "send": ["headers."]}, "unknown headers."),
    "no content": ({"service": "moderation", "url": URL, "send": ["model"]}, "moderation judges content"),
    "no result": ({"service": "datadog", "url": URL, "send": ["messages"], "check": ["result"]}, "to name result"),
    "no model": ({"service": "guard_model", "url": URL, "send": ["messages"]}, "guard_model needs model"),
    "other kinds": ({"service": "opa", "url": URL, "kinds": ["run"]}, "expected some of"),
    "remote policies": ({"service": "opa", "url": URL, "policies": ["a"]}, "policies of its own"),
    "local url": ({"service": "cedar", "url": URL, "policies": ["a"]}, "runs in the process"),
    "no policies": ({"service": "cedar"}, "cedar needs policies"),
    "no query": ({"service": "rego", "policies": ["a"]}, "rego needs it"),
    "no such file": ({"service": "cedar", "policies": ["no/such.cedar"]}, "no/such.cedar: cannot be read"),
    "odd header": ({"service": "opa", "url": URL, "headers": {"a b": "c"}}, "is not a header"),
    "header of lines": ({"service": "opa", "url": URL, "headers": {"a": "c\r\nb: d"}}, "is not a header"),
}


@pytest.mark.every_value
@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG)
def test_wrong_settings_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        RemotePolicy(**given)
