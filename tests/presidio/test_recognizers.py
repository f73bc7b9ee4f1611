"""Presidio's pattern recognizers as a detector: what they add, without network or language model."""

import socket
import sys
from typing import Any

import pytest

from spanhook import ConfigurationError, Hooks, operation
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.testing import recorder

pytestmark = pytest.mark.presidio


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_args: Any, **_more: Any) -> Any:
        raise AssertionError("it reached for the network")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)


def redacted(text: str, **settings: Any) -> Any:
    hooks, request = Hooks(PIIRedaction(detector="presidio", **settings)), {"arguments": {"text": text}}
    with recorder(hooks), operation("tool.execute", "t", request=request) as op:
        return op.request.arguments["text"]


def test_what_it_adds() -> None:
    wallet = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"

    assert redacted(f"pay {wallet} for a@example.com") == "pay [CRYPTO] for [EMAIL]"
    assert redacted(f"pay {wallet} for a@example.com", entities=["CRYPTO"]) == "pay [CRYPTO] for a@example.com"
    assert redacted("tfn 876 543 210", entities=["AU_TFN"]) == "tfn [AU_TFN]"
    assert (
        redacted("".join(chr(0xFF10 + int(one)) for one in "4111111111111111"), entities=["CREDIT_CARD"])
        == "[CREDIT_CARD]"
    )


def test_by_default_it_is_beside_our_own() -> None:
    hook = PIIRedaction(detector="presidio")
    names = [entity.name for entity in hook.redactor.entities]

    assert {"EMAIL", "JWT", "CRYPTO", "MAC_ADDRESS"} <= set(names)
    assert names.count("CREDIT_CARD") == 2


def test_names_that_nobody_knows() -> None:
    with pytest.raises(ConfigurationError, match="AU_TNF: neither spanhook nor a pattern recognizer of Presidio"):
        PIIRedaction(["AU_TNF"], detector="presidio")
    with pytest.raises(ConfigurationError, match="PERSON: neither"):
        PIIRedaction(["PERSON"], detector="presidio")


def test_no_language_model_is_loaded() -> None:
    redacted("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")
    assert not any(name.startswith(("en_core_web", "stanza", "transformers")) for name in sys.modules)
