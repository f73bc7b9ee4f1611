"""Makes the images that the compose file names, of programs that are here: none can be downloaded.

They are kept in a store of their own in the CI cache, which engines read and never write.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.programs import CACHE
from tests.e2e.stack import ROOT, needed
from tests.programs import need

SOURCE = Path(__file__).with_name("images")
PODMAN = "/usr/bin/podman"
PROGRAMS = ("otelcol", "tempo", "prometheus", "alertmanager", "loki", "kafka", "debian")

#: The part of the file that makes an image, where that is not the last word of the image's name.
PARTS = {"opentelemetry-collector-contrib": "collector"}


def images() -> dict[str, str]:
    """The images that the compose file names, by the part of the file that makes them."""
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    named: set[str] = {service["image"] for service in services.values()}
    last = {one: one.partition(":")[0].rpartition("/")[2] for one in named}
    return {PARTS.get(word, word): name for name, word in sorted(last.items())}


def store() -> Path:
    """The store that has all of them; they are made if it does not exist yet."""
    there = {path.name: path for path in SOURCE.glob("*.sh")} | {name: needed(name).resolve() for name in PROGRAMS}
    there["busybox"] = Path(need("busybox-static", shutil.which("busybox", path="/usr/bin:/bin")))
    names = images()
    made_of = [(path.name, path.read_text()) for path in sorted(SOURCE.iterdir())], sorted(map(str, there.values()))
    digest = hashlib.sha256(repr((made_of, names)).encode()).hexdigest()[:12]
    folder = CACHE.parent / "images" / digest
    if not (folder / ".whole").exists():
        shutil.rmtree(folder.parent, ignore_errors=True)  # of another version
        folder.mkdir(parents=True)
        for part, text in _parts().items():
            _build(folder, _full(names.get(part, f"localhost/{part}")), text, there)
        (folder / ".whole").touch()
    return folder


def _parts() -> dict[str, str]:
    """What makes each image, by its name."""
    text = (SOURCE / "Containerfile").read_text()
    return {part.split()[3]: part for part in re.split(r"^(?=FROM )", text, flags=re.MULTILINE)[1:]}


def _full(name: str) -> str:
    """The name with the registry that engines take where none is named."""
    if name.startswith("localhost/"):
        return name
    return f"docker.io/{name}" if "/" in name else f"docker.io/library/{name}"


def _build(folder: Path, name: str, text: str, there: dict[str, Path]) -> None:
    """Make an image, from a folder of its own with what it copies: builders read all of it."""
    context = folder / "context"
    context.mkdir()
    for copied in re.findall(r"^(?:COPY|ADD) (\w[\w.-]*)", text, re.MULTILINE):
        _link(there[copied], context / copied)
    (context / "Containerfile").write_text(text)
    command = [PODMAN, "--root", str(folder), "--runroot", f"{folder}/run", "--storage-driver", "overlay"]
    command += ["--runtime", "runc", "--cgroup-manager", "cgroupfs"]
    command += ["build", "--quiet", "--layers=false", "--tag", name, str(context)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, f"{name}: {ran.stderr}"
    shutil.rmtree(context)


def _link(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, copy_function=lambda one, other: _link(Path(one), Path(other)))
        return
    try:
        os.link(source, target)
    except OSError:  # on another disk
        shutil.copy(source, target)
