"""A file with one certificate authority, for clients of servers on loopback, which speak no TLS.

Clients read hundreds of authorities each time one is made, which takes longer than most checks.
"""

import ssl
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""What clients of servers on loopback verify with, made once: reading certificates takes longer than most checks."""
_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE")
_END = "-----END CERTIFICATE-----"
_BEGIN = "-----BEGIN CERTIFICATE-----"


def one_authority(folder: str | Path) -> Mapping[str, str]:
    """Environment variables that name a file in ``folder`` with one authority of those that are here; none if there
    are none.
    """
    for known in _known():
        _, begun, rest = known.read_text(errors="replace").partition(_BEGIN)
        if begun:
            path = Path(folder) / "authority.pem"
            path.write_text(f"{_BEGIN}{rest.partition(_END)[0]}{_END}\n")
            return dict.fromkeys(_VARIABLES, str(path))
    return {}


def _known() -> Iterator[Path]:
    """Files of authorities."""
    paths = ssl.get_default_verify_paths()
    named = [one for one in (paths.cafile, paths.openssl_cafile) if one]
    if find_spec("certifi") is not None:
        named.append(import_module("certifi").where())
    yield from (path for path in map(Path, named) if path.is_file())
