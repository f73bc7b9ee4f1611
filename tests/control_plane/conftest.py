"""What tests of following share. They need the extra ``server``, which is not in every environment."""

from importlib.util import find_spec

if any(find_spec(name) is None for name in ("urllib3", "cryptography", "fastapi", "sqlalchemy", "jwt")):
    collect_ignore_glob = ["test_*.py"]
