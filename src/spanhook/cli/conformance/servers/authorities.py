"""A file with one certificate authority, for clients of servers on loopback, which speak no TLS.

Clients read hundreds of authorities each time one is made, which takes longer than most checks.
"""

import ssl
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE")
_END = "-----END CERTIFICATE-----"
_BEGIN = "-----BEGIN CERTIFICATE-----"


def one_authority(folder: str | Path) -> Mapping[str, str]:
    """Environment variables that name a file in ``folder`` with one authority of those that are here; none if there
    are none.
    """
    known = _known()
    if known is None:
        return {}
    text = known.read_text(errors="replace")
    first = text[text.index(_BEGIN) : text.index(_END)] + _END + "\n"
    path = Path(folder) / "authority.pem"
    path.write_text(first)
    return dict.fromkeys(_VARIABLES, str(path))


def _known() -> Path | None:
    """A file of authorities."""
    paths = ssl.get_default_verify_paths()
    found = [one for one in (paths.cafile, paths.openssl_cafile) if one]
    if find_spec("certifi") is not None:
        found.append(import_module("certifi").where())
    return next((path for path in map(Path, found) if path.is_file() and _BEGIN in path.read_text(errors="replace")), None)
