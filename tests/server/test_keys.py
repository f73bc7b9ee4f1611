from spanhook.server.keys import hash_of, is_secret, new_key, split_key


def test_a_key_is_its_id_and_a_secret_of_which_only_a_hash_is_kept() -> None:
    key = new_key()
    parts = split_key(key.text)
    assert parts is not None
    assert parts[0] == key.key_id
    assert key.hash == hash_of(parts[1])
    assert parts[1] not in key.hash
    assert is_secret(parts[1], key.hash)
    assert not is_secret(f"{parts[1][:-1]}!", key.hash)


def test_nothing_is_the_secret_of_an_unknown_key() -> None:
    assert not is_secret("anything", None)


def test_what_is_no_key_is_none() -> None:
    key = new_key().text
    for text in ("", "shk_", key[:-1], f"{key}a", f" {key}", key.upper(), f"{key}\n", key.replace("shk_", "sk_")):
        assert split_key(text) is None, text
