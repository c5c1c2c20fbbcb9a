"""``ocboost cascade live``: a local page on which a detector is taught by clicking."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from ocboost.cli.cascade_shared import require_places
from ocboost.cli.options import Count, Flag, Seed
from ocboost.cli.terminal import say
from ocboost.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import socket

    from ocboost._teaching.address import Address

NEEDED = {  # that the page needs, and the extra that has them
    **dict.fromkeys(("starlette", "uvicorn", "httptools", "prometheus_client", "msgspec"), "serve"),
    "PIL": "vision",
}
HOST = "127.0.0.1"  # nobody else's machine reaches it
MaybePort = Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=65535))]
Side = Annotated[int, Parameter(validator=validators.Number(gte=64, lte=1920))]


def live(
    detector: Path,
    source: Path | None = None,
    /,
    *,
    state: Path | None = None,
    port: MaybePort = None,
    every: Count = 1,
    max_side: Side = 640,
    no_browser: Flag = False,
    seed: Seed = 0,
) -> int:
    """Teach a detector by clicking, on a page of this machine.

    With the browser's camera:
        ocboost cascade live haarcascade_frontalface_default.xml

    With a video, or a folder of pictures:
        ocboost cascade live detector.xml film.mp4
        ocboost cascade live detector.xml pictures/

    Keep what was taught, and go on there another day:
        ocboost cascade live detector.xml --state taught/

    Click a box that shows no face, draw around a face that was missed, or say
    that a frame has none. The detector learns while you watch. Download
    adapted.xml, which OpenCV loads, and the frames with their boxes, which
    `ocboost cascade adapt --boxes` reads.

    Only this machine's browser can open the page, by the address with its
    token. Frames do not leave the machine, and nothing is written to its disk
    but what you download, and the folder of --state. Ctrl-C ends it.

    Parameters
    ----------
    detector
        A cascade of Haar features in OpenCV's XML format, gzipped or not.
    source
        A video, a picture, or a folder of pictures; without it, the browser's camera. The page can also open
        a video or pictures itself.
    state
        A folder for what is taught, and the frames it was taught on. The same line goes on there, and a page
        that is still open finds its server again. One server at a time uses it.
    port
        The port; by default that of last time with --state, else one that is free.
    every
        Of a video, take every n-th frame.
    max_side
        Larger frames are scaled down until their longer side has this many pixels.
    no_browser
        Only print the address; by default a browser is opened where there is a screen.
    seed
        For what is drawn at random while it learns.
    """
    require_places(detector)
    try:
        from ocboost._teaching.address import keep_address, kept_address, new_address
        from ocboost._teaching.server import run_teaching
        from ocboost._teaching.service import PageFacts
        from ocboost._teaching.source import FrameSource
        from ocboost.serve.run import url_of
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in NEEDED:
            raise
        raise MissingExtraError(package, NEEDED[package], "ocboost cascade live") from error
    from ocboost._core.escaping import shown
    from ocboost._core.file_lock import HeldError
    from ocboost._teaching.session import TeachingSession
    from ocboost.cascade import read_cascade

    file = read_cascade(detector)
    frames = None if source is None else FrameSource(source, every=every, max_side=max_side)
    address = new_address() if state is None else kept_address(state)
    try:
        session = TeachingSession(file, state=state, seed=seed)
    except HeldError:
        raise InputError(
            f"--state '{state}' is in use by another ocboost cascade live. End that one, or give "
            "another folder."
        ) from None
    try:
        with _bound(address, port) as bound:
            say("getting ready; this takes up to a minute the first time.")
            session.warm_up()
            address = address._replace(port=bound.getsockname()[1])
            if state is not None:
                keep_address(state, address)

            def ready(once: str) -> None:
                say(f"teach it at {address.url(url_of(bound))}")
                if not no_browser:
                    _open_browser(address.url(url_of(bound), once=once))

            facts = PageFacts(
                shown(detector.name), (file.cascade.width, file.cascade.height), state is not None
            )
            run_teaching(session, facts, frames, address.token, bound, ready)
    finally:
        session.close()
        if frames is not None:
            frames.close()
    if session.unsaved is not None:
        say(f"ended, but {session.unsaved}.")
        return 1
    if state is None:
        say("ended; what was not downloaded is gone.")
    else:
        say(f"ended; what was taught is in '{state}'.")
    return 0


def _bound(address: Address, port: int | None) -> socket.socket:
    """A socket at the port that was asked for, or at that of last time, or at any."""
    from ocboost.serve.run import bind

    if port is not None or not address.port:
        return bind(HOST, port or 0)
    try:
        return bind(HOST, address.port)
    except InputError:
        say(f"port {address.port} of last time is in use; another one is taken.")
        return bind(HOST, 0)


def _open_browser(url: str) -> None:
    """Open a browser where there is a screen; a text browser in this terminal would be no help.

    The address is good once: other users of the machine can read it in the list of processes.
    """
    import webbrowser

    screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if screen and not webbrowser.open(url):
        say("no browser could be opened; open the address above.")
