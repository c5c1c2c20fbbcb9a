"""Pictures of the page: light, dark and as a phone shows it.

    python experiments/page_screenshots.py --data DIR
    python experiments/page_screenshots.py page.html
    python experiments/page_screenshots.py http://127.0.0.1:8080/ --token-file token.txt --out pictures

Takes a file that `ocboost adapt --report` wrote, or the address of a service, and writes ``page-light.png``,
``page-dark.png`` and ``page-phone.png``. Without either it starts a service of its own, for the pictures of
the documentation: an adaptive model, fitted on the first 2,000 rows of INSECTS, learns the next 10,000, whose
labels come 200 rows late. Without --data, or OCBOOST_DATA, the rows are drawn. It drives the browser of the
system (chromium, chromium-browser or google-chrome) with Playwright, and needs Pillow.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright

from ocboost import AdaptiveClassifier, Model

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.serving import ServiceProcess

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
N_FREQUENT = 128
KINDS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {
        "color_scheme": "light",
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 2,
        "is_mobile": True,
        "has_touch": True,
    },
}


START, ROWS, LATE, ROWS_PER_REQUEST = 2_000, 10_000, 200, 20


def stream(data: Path | None) -> tuple[pd.DataFrame, np.ndarray]:
    """INSECTS; without the data, rows whose labels depend on other features later."""
    path = None if data is None else data / "streams" / "insects_gradual_balanced.csv.gz"
    if path is not None and path.is_file():
        table = pd.read_csv(path)
        known = table["species"].isin(table["species"][:START].unique())  # another one comes later
        table = table[known][: START + ROWS]
        return table.drop(columns="species"), table["species"].to_numpy()
    print("no data: the rows are drawn")
    rng = np.random.default_rng(7)
    X = rng.normal(size=(START + ROWS, 6)).round(4)
    angle = np.linspace(0.0, np.pi / 2, len(X)) + np.where(np.arange(len(X)) > len(X) // 2, np.pi / 3, 0.0)
    side = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] + 0.5 * rng.normal(size=len(X))
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(6)]), np.where(side > 0, "UP", "DOWN")


@contextmanager
def demonstration(data: Path | None) -> Iterator[str]:
    """The address of a service that has followed a stream."""
    X, y = stream(data)
    rows, labels = X[START:].to_dict("records"), y[START:].tolist()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Model(AdaptiveClassifier(random_state=0).fit(X[:START], y[:START])).save(folder / "mosquitoes.ocb")
        with ServiceProcess(folder / "mosquitoes.ocb", folder / "state") as service:
            connection = http.client.HTTPConnection(service.host, service.port)

            def ask(what: str, body: Any) -> Any:
                connection.request("POST", what, json.dumps(body), {"Content-Type": "application/json"})
                return json.loads(connection.getresponse().read())

            ids: list[str] = []
            for i in range(0, len(rows), ROWS_PER_REQUEST):
                found = ask("/predict", {"rows": rows[i : i + ROWS_PER_REQUEST]})["predictions"]
                ids += [each["id"] for each in found]
                due = range(max(0, i - LATE), max(0, i - LATE + ROWS_PER_REQUEST))
                if len(due):
                    ask("/label", {"labels": [{"id": ids[j], "label": labels[j]} for j in due]})
            yield f"http://{service.host}:{service.port}/"


def address_of(place: str) -> str:
    """A URL as it is; a path as the URL of the file."""
    return place if place.startswith(("http://", "https://")) else Path(place).resolve(strict=True).as_uri()


def take(browser: Any, address: str, settings: dict[str, Any], token: str | None, height: int) -> bytes:
    """One picture of the page once its charts are drawn, with the newest mistake open."""
    context = browser.new_context(locale="en-GB", timezone_id="UTC", **settings)
    try:
        page = context.new_page()
        page.goto(address)
        if token is not None:
            page.fill("#token-value", token)
            page.press("#token-value", "Enter")
        page.locator("#accuracy canvas").wait_for()
        mistakes = page.locator("#mistakes-list summary")
        if mistakes.count():
            mistakes.first.click()
            page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        page.wait_for_timeout(3_000)  # the service explains a mistake a second
        tall = page.evaluate("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": settings["viewport"]["width"], "height": min(tall, height)}
        return bytes(page.screenshot(full_page=True, clip=clip, animations="disabled"))
    finally:
        context.close()


def small(png: bytes) -> bytes:
    """The same picture with 256 colours: the most frequent ones, and those that are furthest from grey."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(np.int64)
    codes = pixels @ [1 << 16, 1 << 8, 1]
    found, where, counts = np.unique(codes, return_inverse=True, return_counts=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    often = np.argsort(-counts)
    vivid = often[N_FREQUENT:][np.argsort(-(counts * np.ptp(colours, axis=1))[often[N_FREQUENT:]])]
    palette = colours[np.concatenate([often[:N_FREQUENT], vivid[: 256 - N_FREQUENT]])]
    nearest = np.array([np.argmin(((palette - colour) ** 2).sum(axis=1)) for colour in colours])
    few = Image.fromarray(nearest[where].reshape(codes.shape).astype(np.uint8))
    few.putpalette(palette.astype(np.uint8).tobytes())
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", nargs="?", help="a page in one file, or the address of a service")
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="the folder to write to")
    parser.add_argument("--token-file", type=Path, help="the token of the service")
    parser.add_argument(
        "--height", type=int, default=2000, help="the most of the page that is shown, in pixels"
    )
    words = parser.parse_args()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SystemExit(f"No browser: none of {', '.join(BROWSERS)} is installed.")
    token = words.token_file.read_text().strip() if words.token_file else None
    words.out.mkdir(parents=True, exist_ok=True)
    if words.page is not None:
        write_pictures(path, address_of(words.page), words.out, token, words.height)
        return
    with demonstration(None if words.data is None else Path(words.data)) as address:
        write_pictures(path, address, words.out, token, words.height)


def write_pictures(browser_path: str, address: str, out: Path, token: str | None, height: int) -> None:
    """Take each picture and write it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for name, settings in KINDS.items():
            target = out / f"page-{name}.png"
            target.write_bytes(small(take(browser, address, settings, token, height)))
            print(f"{target}: {target.stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
