"""The site is made of the repository's Markdown where it stands, so that a link is right in both or in neither.

MkDocs takes one folder, and README.md and others are outside of `docs/`. So the folder it gets is a copy in which every
file has its place in the repository.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/**/*.md",
    "docs/*.json",
    "docs/semconv/*.yaml",
    "docs/pictures/*.svg",
    "docs/pictures/*.png",
    "collector/README.md",
    "examples/**/*.md",
    "examples/**/*.py",
    "examples/**/*.yaml",
    "examples/*.ipynb",
)

_copies: list[Path] = []


def on_config(config: Any) -> Any:
    """Called by MkDocs before it looks for files."""
    copy = Path(tempfile.mkdtemp(prefix="spanhook-site-"))
    _copies.append(copy)
    for pattern in PAGES:
        for page in ROOT.glob(pattern):
            target = copy / page.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)
    config.docs_dir = str(copy)
    config.watch = [str(ROOT / "docs"), str(ROOT / "README.md")]
    return config


def on_shutdown() -> None:
    """Called by MkDocs at its end."""
    for copy in _copies:
        shutil.rmtree(copy, ignore_errors=True)
