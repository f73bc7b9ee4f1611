"""One certificate authority for the clients of tests, which talk to loopback servers without TLS."""

from collections.abc import Iterator

import pytest

from spanhook.cli.conformance.servers.authorities import one_authority


@pytest.fixture(scope="package", autouse=True)
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Clients read one authority and not hundreds, which takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in one_authority(tmp_path_factory.mktemp("authority")).items():
            patch.setenv(name, value)
        yield
