from spanhook.server.sealing import Seal


def test_what_is_sealed_is_opened_by_the_same_key_for_the_same_owner_alone() -> None:
    seal = Seal(b"k" * 32)
    sealed = seal.close("whsec_é", "wh_1")
    assert b"whsec" not in sealed
    assert seal.close("whsec_é", "wh_1") != sealed
    assert seal.open(sealed, "wh_1") == "whsec_é"
    assert Seal(b"k" * 32).open(sealed, "wh_1") == "whsec_é"
    assert seal.open(sealed, "wh_2") == ""
    assert Seal(b"x" * 32).open(sealed, "wh_1") == ""
    assert seal.open(sealed[:-1] + bytes([sealed[-1] ^ 1]), "wh_1") == ""
    assert seal.open(b"", "wh_1") == ""
