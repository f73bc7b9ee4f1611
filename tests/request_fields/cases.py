"""What the tests of every library check of its requests."""

import json
from collections.abc import Mapping
from typing import Any

from spanhook.instrument.wire import Format
from spanhook.instrument.wire.beside import put_beside, texts_beside
from tests.request_fields.checking import unlisted, unneeded
from tests.request_fields.kinds import Provider

MARK = "planted-text"
_SAMPLES: Mapping[str, Any] = {
    "messages": [{"role": "user", "content": MARK}],
    "system": [{"type": "text", "text": MARK}],
    "chat_history": [{"role": "USER", "message": MARK}],
    "tool_results": [{"call": {"name": "f", "parameters": {}}, "outputs": [{"text": MARK}]}],
    "tools": [{"type": "function", "name": MARK, "function": {"name": MARK}}],
    "functions": [{"name": MARK}],
    "tool_outputs": [{"tool_call_id": "c", "output": MARK}],
    "thread": {"messages": [{"role": "user", "content": MARK}]},
    "additional_messages": [{"role": "user", "content": MARK}],
    "prompt.variables": {"name": MARK},
    "completion_args": {"prediction": {"type": "content", "content": MARK}},
    "document": {"type": "document_url", "document_url": f"https://a.example/{MARK}"},
}


def every_field_is_listed(provider: Provider) -> None:
    """Each field that can hold text is seen, or on the list of what is not; the lists have no others."""
    assert {name: missing for name, api in provider.apis.items() if (missing := unlisted(provider, api))} == {}
    assert unneeded(provider) == []


def what_is_seen_is_in_the_request(provider: Provider, formats: Mapping[str, Format]) -> None:
    """Each field that is listed as seen is read into ``op.request``; those in ``arguments`` are put back."""
    for name, api in provider.apis.items():
        form = formats[name]
        assert {path for path, where in api.seen.items() if where == "arguments"} <= {*form.beside}, name
        for path, where in api.seen.items():
            if where == "arguments":
                _put_back(form, path)
                continue
            request = form.request(_body(path))
            found = request.inputs if where == "inputs" else getattr(request, where)
            assert MARK in repr(found), f"{name} {path}"
            assert where in form.takes or where == "tools", f"{name} {path}"


def _body(path: str) -> dict[str, Any]:
    first = path.partition(".")[0]
    return {first: _SAMPLES.get(path, _SAMPLES.get(first, MARK))}


def _put_back(form: Format, path: str) -> None:
    """A field in ``arguments`` is read, changed and removed in its place, and nothing beside it."""
    first, _, rest = path.partition(".")
    body: dict[str, Any] = {first: {**_nested(rest), "other": 1} if rest else MARK, "model": "m"}
    before = json.dumps(body)
    arguments = texts_beside(body, form.beside)
    assert MARK in json.dumps(arguments)
    for given, expected in (
        (json.loads(json.dumps(arguments).replace(MARK, "new")), before.replace(MARK, "new")),
        ({}, ""),
    ):
        changed = dict(body)
        put_beside(changed, form.beside, given)
        assert MARK not in json.dumps(changed)
        assert not expected or json.dumps(changed) == expected
    assert json.dumps(body) == before


def _nested(path: str) -> dict[str, Any]:
    name, _, rest = path.partition(".")
    return {name: _nested(rest) if rest else {"said": MARK}}
