"""What an engine says of a container, and what the kernel says of its process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Container:
    """A container, as ``podman inspect`` describes it."""

    about: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.about["Name"]

    @property
    def state(self) -> str:
        """Whether it runs: ``running`` or ``exited``."""
        return self.about["State"]["Status"]

    @property
    def health(self) -> str:
        """What its health check has found; empty if it has none, or has ended."""
        if self.state != "running" or not self.about["Config"].get("Healthcheck"):
            return ""
        return (self.about["State"].get("Health") or self.about["State"].get("Healthcheck"))["Status"]

    @property
    def exit_code(self) -> int:
        return self.about["State"]["ExitCode"]

    @property
    def memory(self) -> int:
        """The most memory that it may use, in bytes."""
        return self.about["HostConfig"]["Memory"]

    @property
    def started(self) -> str:
        """When it was started last."""
        return self.about["State"]["StartedAt"]

    @property
    def user(self) -> int:
        """The id of the user that its process has."""
        return int(self._status("Uid").split()[0])

    @property
    def capabilities(self) -> int:
        """The capabilities that its process has or could get, as bits."""
        return int(self._status("CapEff"), 16) | int(self._status("CapBnd"), 16)

    @property
    def may_gain_privileges(self) -> bool:
        return self._status("NoNewPrivs") == "0"

    @property
    def is_read_only(self) -> bool:
        """Whether nobody can write to its root."""
        return "ro" in self._mounts()["/"]

    @property
    def writable(self) -> set[str]:
        """What is mounted from outside and can be written to, without what podman gives to every container."""
        own = (
            "/",
            "/proc",
            "/sys",
            "/dev",
            "/run",
            "/tmp",
            "/var/tmp",
            "/etc/hosts",
            "/etc/hostname",
            "/etc/resolv.conf",
        )
        return {
            place
            for place, options in self._mounts().items()
            if "rw" in options and place not in own and not place.startswith(("/proc/", "/sys/", "/dev/", "/run/"))
        }

    def _status(self, field: str) -> str:
        lines = Path(f"/proc/{self.about['State']['Pid']}/status").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{field}:"))

    def _mounts(self) -> dict[str, list[str]]:
        lines = Path(f"/proc/{self.about['State']['Pid']}/mountinfo").read_text().splitlines()
        return {line.split()[4]: line.split()[5].split(",") for line in lines}
