"""The names of other projects that docstrings use, and where their sites have them.

``docs/inventories/NAME.txt`` has the address of a site in its first line, then a name, its kind and its page
in each. They are written by hand, since a build may have no network; Sphinx reads them as if they had come
from the sites.
"""

from __future__ import annotations

import zlib
from pathlib import Path


def mapping(texts: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write the inventories to ``folder`` as Sphinx wants them, and say where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for text in sorted(texts.glob("*.txt")):
        site, *lines = text.read_text(encoding="utf-8").splitlines()
        entries = "".join(f"{name} {kind} 1 {page} -\n" for name, kind, page in map(str.split, lines))
        head = f"# Sphinx inventory version 2\n# Project: {text.stem}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        inventory = folder / f"{text.stem}.inv"
        inventory.write_bytes(head.encode() + zlib.compress(entries.encode()))
        found[text.stem] = (site, str(inventory))
    return found
