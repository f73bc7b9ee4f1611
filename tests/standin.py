"""Packages on disk that have the name of a library: something to import, and nothing more."""

from pathlib import Path

from spanhook.instrument import KNOWN
from spanhook.instrument.known import Known

BY_NAME = {known.library: known for known in KNOWN}


def package(folder: Path, module: str, text: str = "") -> Path:
    """A package of this name, in namespaces where the name has dots; returns where it is."""
    place = folder.joinpath(*module.split("."))
    place.mkdir(parents=True, exist_ok=True)
    (place / "__init__.py").write_text(text)
    return place


def distribution(folder: Path, name: str, version: str = "1.2.3") -> None:
    """What an installer leaves behind."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def library(folder: Path, known: Known, text: str = "", version: str = "1.2.3") -> None:
    """A library as it is installed: its modules, and what tells its version."""
    distribution(folder, known.distributions[0], version)
    for module in known.modules or ():
        place = package(folder, module, text)
        for mark in known.mark[:1]:
            (place / mark).parent.mkdir(exist_ok=True)
            (place / mark).write_text("")
