"""The line that installs an extra, for an ocboost from a registry, a clone, a file or a URL."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).parents[2]  # of a clone


def install_line(extra: str) -> str:
    """What to type to install an extra of this ocboost."""
    from importlib import metadata  # late, as all imports here: they are slow, and needed for errors only

    try:
        text = metadata.distribution("ocboost").read_text("direct_url.json")
        origin = json.loads(text) if text else {}
    except (metadata.PackageNotFoundError, ValueError, OSError):
        is_clone = (_SOURCE / "pyproject.toml").is_file() and (_SOURCE / "src").is_dir()
        origin = {"url": _SOURCE.as_uri(), "dir_info": {"editable": True}} if is_clone else {}
    return line_for(extra, origin if isinstance(origin, dict) else {})


def line_for(extra: str, origin: Mapping[str, Any]) -> str:
    """The same from what pip notes in ``direct_url.json``; nothing of a package from a registry.

    >>> line_for("plot", {})
    "pip install 'ocboost[plot]'"
    >>> vcs = {"vcs": "git", "commit_id": "a1b2", "requested_revision": "main"}
    >>> line_for("plot", {"url": "https://host/ocboost", "vcs_info": vcs})
    "pip install 'ocboost[plot] @ git+https://host/ocboost@main'"
    """
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    url = origin.get("url")
    if not isinstance(url, str) or not url.isprintable():
        return f"pip install {_quoted(f'ocboost[{extra}]')}"
    parts = urlsplit(url)
    url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # a password is nobody's business
    folder, vcs = origin.get("dir_info"), origin.get("vcs_info")
    if isinstance(folder, dict) and parts.scheme == "file":
        place = url2pathname(parts.path)
        editable = "-e " if folder.get("editable") else ""
        return f"pip install {editable}{_quoted(f'{place}[{extra}]')}"
    if isinstance(vcs, dict):
        revision = vcs.get("requested_revision") or vcs.get("commit_id")
        url = f"{vcs.get('vcs')}+{url}{f'@{revision}' if revision else ''}"
    return f"pip install {_quoted(f'ocboost[{extra}] @ {url}')}"


def _quoted(word: str) -> str:
    return f'"{word}"' if os.name == "nt" else shlex.quote(word)
