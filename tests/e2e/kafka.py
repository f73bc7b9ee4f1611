"""Kafka's own broker, alone on loopback: the settings and topics of the compose file, but for addresses and paths."""

import os
import re
import shlex
import socket
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.programs import Server
from tests.e2e.stack import ROOT, needed
from tests.ports import free_ports

_SERVICES: Mapping[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
_TOOLS = "org.apache.kafka.tools"
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Java: what runs for a minute is not worth being compiled twice, nor collected by several threads."""
_CLUSTER = "c3Bhbmhvb2stc3Bhbmhvbw"
"""An id as Kafka makes them: 16 bytes in base 64."""


class Broker(Server):
    """A broker; it answers as soon as it can be connected to.

    Args:
        folder: Where it keeps everything.
        ports: Where it listens, where over TLS, where to itself.
        certificate: The folder of its certificate and key, for ``localhost``, if it is to listen over TLS.
    """

    def __init__(self, folder: Path, ports: Sequence[int], certificate: Path | None = None) -> None:
        port, secured, controller = ports
        folder.mkdir(parents=True)
        given: dict[str, str] = dict(_SERVICES["kafka"]["environment"])
        java = {"KAFKA_HEAP_OPTS": f"{given.pop('KAFKA_HEAP_OPTS')} {_SHORT_LIVED}"}
        given |= {
            "KAFKA_LISTENERS": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}",
            "KAFKA_CONTROLLER_QUORUM_VOTERS": f"1@127.0.0.1:{controller}",
            "KAFKA_LOG_DIRS": str(folder / "data"),
        }
        if certificate is not None:
            pair = folder / "certificate.pem"
            pair.write_text((certificate / "tls.key").read_text() + (certificate / "tls.crt").read_text())
            given["KAFKA_LISTENERS"] += f",SSL://127.0.0.1:{secured}"
            given["KAFKA_ADVERTISED_LISTENERS"] += f",SSL://localhost:{secured}"
            given["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"] += ",SSL:SSL"
            given |= {"KAFKA_SSL_KEYSTORE_TYPE": "PEM", "KAFKA_SSL_KEYSTORE_LOCATION": str(pair)}
        # the image makes its settings of its variables in this way
        settings = [f"{name.removeprefix('KAFKA_').lower().replace('_', '.')}={value}" for name, value in given.items()]
        (folder / "server.properties").write_text("\n".join(settings))
        self.address, self.secured = f"127.0.0.1:{port}", f"localhost:{secured}"
        super().__init__(
            needed("kafka") / "run", ["kafka.Kafka", "server.properties"], folder, f"tcp://{self.address}", java
        )

    def answers(self) -> bool:
        try:
            host, _, port = self.address.partition(":")
            socket.create_connection((host, int(port)), timeout=1.0).close()
        except OSError:
            return False
        return True

    def members(self) -> dict[tuple[str, str], int]:
        """How many partitions each member reads, by group and ``group_instance_id``."""
        listed = self.tool(f"{_TOOLS}.consumer.group.ConsumerGroupCommand", "--describe", "--all-groups", "--members")
        rows = [line.split() for line in listed.splitlines() if line and not line.startswith("GROUP ")]
        return {(row[0], row[2]): int(row[-1]) for row in rows}

    def written(self) -> int:
        """How many messages there are in all topics."""
        listed = self.tool(f"{_TOOLS}.GetOffsetShell", "--topic", "spanhook[.].+")
        return sum(int(line.rpartition(":")[2]) for line in listed.splitlines())

    def tool(self, name: str, *arguments: str) -> str:
        """What one of Kafka's programs prints."""
        to = ["--bootstrap-server", self.address] if name.startswith(_TOOLS) else []
        ran = subprocess.run(
            [self.path, name, *to, *arguments],
            cwd=self.folder,
            env={**os.environ, "KAFKA_HEAP_OPTS": _SHORT_LIVED},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


@contextmanager
def broker(folder: Path, certificate: Path | None = None) -> Generator[Broker, None, None]:
    """Run a broker with the topics that the collectors use."""
    one = Broker(folder, free_ports(3), certificate)
    one.tool("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", "server.properties")
    one.start()
    try:
        script = _SERVICES["topics"]["command"][-1]
        signals = re.search(r"for signal in (.+?);", script)
        command = re.search(r"kafka-topics\.sh --bootstrap-server kafka:9092 (.+?);", script)
        assert signals
        assert command
        for signal in signals[1].split():
            one.tool(f"{_TOOLS}.TopicCommand", *shlex.split(command[1].replace("$$signal", signal)))
        yield one
    finally:
        one.stop()
