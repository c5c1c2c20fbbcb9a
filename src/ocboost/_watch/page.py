"""The page that shows a document: as files for a service, or as one file with everything inside.

Plain HTML, CSS and JavaScript, which lie in ``static`` beside this module, and uPlot with its licence. The
page asks no other host for anything, and its content security policy does not let it.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

INDEX = "index.html"
FOLDER = "page/"  # where index.html looks for the other files
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
STYLE = re.compile(r'<link rel="stylesheet" href="page/([\w.-]+)">')
SCRIPT = re.compile(r'<script src="page/([\w.-]+)"></script>')
DATA = '<script type="application/json" id="document">'
CHARSET = '<meta charset="utf-8">\n'
# In JSON these are the same texts, and none of them can end or open an element.
UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@cache
def _contents() -> dict[str, bytes]:
    folder = resources.files(__package__) / "static"
    return {
        entry.name: entry.read_bytes()
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if PurePosixPath(entry.name).suffix in MEDIA_TYPES
    }


def static_files() -> dict[str, tuple[bytes, str]]:
    """The files that a service gives, by their paths: content and media type; the page itself is ``/``."""
    return {
        "/" if name == INDEX else f"/{FOLDER}{name}": (content, MEDIA_TYPES[PurePosixPath(name).suffix])
        for name, content in _contents().items()
    }


def one_file(document: Mapping[str, Any]) -> str:
    """The page with a document inside: one file that is read without a service and asks for nothing.

    Scripts and styles are allowed by their hashes alone. Numbers that are not finite become null.
    """
    files = {name: content.decode() for name, content in _contents().items()}
    page = files[INDEX]
    scripts = [files[name] for name in SCRIPT.findall(page)]
    styles = [files[name] for name in STYLE.findall(page)]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = SCRIPT.sub(lambda found: f"<script>{files[found[1]]}</script>", page)
    page = STYLE.sub(lambda found: f"<style>{files[found[1]]}</style>", page)
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    licence = f"<!--\nuPlot:\n{files['uPlot-LICENSE.txt'].strip()}\n-->\n"
    page = page.replace(CHARSET, CHARSET + meta + licence, 1)
    return page.replace(DATA, DATA + embedded(document), 1)


def embedded(document: Mapping[str, Any]) -> str:
    """A document as JSON that stays data inside of a page, whatever its texts are: plain ASCII, no markup."""
    return json.dumps(_finite(document), allow_nan=False, separators=(",", ":")).translate(UNSAFE)


def _hashes(texts: list[str]) -> str:
    return " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)


def _finite(value: Any) -> Any:
    """The same tree without numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value
