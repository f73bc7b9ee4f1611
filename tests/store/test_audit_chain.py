"""What a hash covers, so that others can compute it."""

import hashlib
import hmac
import json

from spanhook.store.audit_chain import canonical, sealed


def test_a_hash_is_that_of_the_rest_of_the_record() -> None:
    entry = {"seq": 0, "prev": "0" * 64, "name": "Zoë"}
    text = b'{"name":"Zo\\u00eb","prev":"' + b"0" * 64 + b'","seq":0}'
    assert canonical(entry) == text
    line, mark = sealed(entry, None)
    assert mark == hashlib.sha256(text).hexdigest() == json.loads(line)["hash"]
    assert sealed(entry, b"key")[1] == hmac.new(b"key", text, "sha256").hexdigest()
