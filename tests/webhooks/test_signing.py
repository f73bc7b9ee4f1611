import json
import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from spanhook.webhooks import check_secret, new_secret, signed


def test_the_example_of_the_specification() -> None:
    body = '{"test": 2432232314}'
    found = signed(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], "msg_p5jXN8AQM9LWM0D4loKWxJek", body, 1614265330.9)
    assert found == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_both_secrets_verify_while_one_is_replaced() -> None:
    old, new, other = new_secret(), new_secret(), new_secret()
    headers = signed([new, old], "evt_1", '{"a":1}', time.time())
    for secret in (old, new):
        assert Webhook(secret).verify(b'{"a":1}', headers) == {"a": 1}
    for secret, body in ((other, b'{"a":1}'), (new, b'{"a":2}')):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, headers)


def test_text_beyond_ascii() -> None:
    secret, body = new_secret(), json.dumps({"a": "é 🙂"}, ensure_ascii=False)
    headers = signed([secret], "evt_1", body, time.time())
    assert Webhook(secret).verify(body.encode(), headers) == {"a": "é 🙂"}


def test_secrets() -> None:
    assert check_secret(new_secret()) != new_secret()
    for wrong in (
        "",
        "whsec_",
        "whsec_YQ==",
        "whsec_!",
        "whsec_é",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        f"whsec_{'YWFh' * 30}",
    ):
        with pytest.raises(ValueError, match="expected"):
            check_secret(wrong)
