"""What the page's server answers under each path."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

import msgspec
import numpy as np
from starlette.routing import Route

from ocboost._teaching.gate import OPENING_PATH
from ocboost._teaching.page import page_files
from ocboost._teaching.service import MAX_FRAME_PIXELS, MIN_SIDE, TeachingService, tab_of
from ocboost._teaching.source import SourceFrame, number_in
from ocboost.serve.bodies import Receive, Scope
from ocboost.serve.endpoints import NOT_MODIFIED, Endpoint, Handler, Reply
from ocboost.serve.failures import JSON_TYPE, Headers, HttpError
from ocboost.serve.page import PAGE_FOLDER, PRIVATE_HEADERS, is_known

if TYPE_CHECKING:
    from ocboost._teaching.clicks import Click
    from ocboost._teaching.session import Seen, Which

REQUEST_TYPE, FRAME_TYPE = b"application/json", b"application/octet-stream"
PRIVATE_JSON: Headers = [JSON_TYPE, *PRIVATE_HEADERS]
MAX_NAME = 100
RECENT = 200  # frames and clicks that the page lists

_encode = msgspec.json.Encoder().encode


class ClickRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A click: in which frame of which run, and on which box."""

    run: str
    frame: int
    box: tuple[int, int, int, int] | None = None


class WordRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The word that the browser was opened with."""

    word: str


def private(content: Any) -> Reply:
    """An answer that nobody keeps."""
    return Reply(_encode(content), headers=PRIVATE_JSON)


async def opening(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /opening``: the token, once."""
    word = _decoded(WordRequest, await service.body(scope, receive, REQUEST_TYPE)).word
    return private({"token": service.token_for(word.encode()).decode()})


async def status(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /status``: how it stands; a tab that asks is alive."""
    teaches = service.teaches(scope)
    content = dict(await service.in_thread(service.session.status))
    notes = [] if service.source is None else service.source.notes
    return private(
        {**content, "run": service.run, "teaches": teaches, "judged": service.judged, "notes": notes}
    )


async def take_over(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /take-over``: this tab teaches from now on."""
    service.tabs.take(tab_of(scope))
    return private({})


async def leave(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /leave``: this tab is being closed."""
    service.tabs.leave(tab_of(scope))
    return private({})


async def see(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /see``: look for faces in a frame, which is the body: grey, a byte a pixel, row by row."""
    service.must_teach(scope)
    query = _query(scope)
    width, height = _side(query, "width"), _side(query, "height")
    if width * height > MAX_FRAME_PIXELS:
        raise HttpError(
            413, "too_large", f"A frame must have at most {MAX_FRAME_PIXELS:,} pixels, a byte each."
        )
    pixels = await service.body(scope, receive, FRAME_TYPE)
    if len(pixels) != width * height:
        raise _bad(f"A frame of {width} × {height} has {width * height:,} bytes; got {len(pixels):,}.")
    grey = np.frombuffer(pixels, np.uint8).reshape(height, width).copy()
    seen = await service.look(
        service.session.see, grey, name=_name(query.get("name", "")), time=_time(query.get("time"))
    )
    return private(_seen(service, seen))


async def facts(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /facts``: what stays the same: the detector, and what the server itself reads frames from."""
    read = service.source
    source = (
        None
        if read is None
        else {
            "name": read.name,
            "video": read.is_video,
            "expected": await service.in_thread(lambda: read.expected),
            "per_second": read.per_second,
        }
    )
    return private({**service.facts._asdict(), "source": source})


async def source_frame(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /source/frame?n=N``: a frame to be shown, as JPEG."""
    frame = await service.in_thread(_frame_of, service, scope)
    name = quote(frame.name[:MAX_NAME]).encode()
    headers = [(b"content-type", b"image/jpeg"), (b"ocboost-name", name), *PRIVATE_HEADERS]
    return Reply(frame.jpeg, headers=headers)


async def source_see(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /source/see?n=N``: look for faces in a frame that the server has."""
    service.must_teach(scope)
    frame = await service.in_thread(_frame_of, service, scope)
    return private(_seen(service, await service.look(service.session.see, frame.grey, name=frame.name)))


async def reject(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /reject``: what is in this box is no face."""
    click = await _click(service, scope, receive)
    return private(_as_dict(await service.in_thread(service.session.reject, click.frame, _box(click))))


async def mark(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /mark``: what is in this box is a face."""
    click = await _click(service, scope, receive)
    return private(_as_dict(await service.in_thread(service.session.mark, click.frame, _box(click))))


async def free(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /free``: nothing in this frame is a face."""
    click = await _click(service, scope, receive)
    return private(_as_dict(await service.in_thread(service.session.free, click.frame)))


async def undo(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /undo``: take the last click back."""
    service.must_teach(scope)
    click = await service.in_thread(service.session.undo)
    return private(None if click is None else _as_dict(click))


async def clicks(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /clicks``: the last ones, in order."""
    found = await service.in_thread(service.session.clicks)
    return private([_as_dict(click) for click in found[-RECENT:]])


async def frames(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /frames``: what is kept and listed, newest last; those that were taught come before others."""
    kept = await service.in_thread(service.session.frames)
    clicked = [frame for frame in kept if frame["clicks"]]
    others = [frame for frame in kept if not frame["clicks"]]
    listed = [*clicked[-RECENT:], *others[-RECENT:]]
    return private(sorted(listed, key=lambda frame: frame["id"]))


async def picture(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /frames/N/picture``: a kept frame as PNG."""
    content = await service.in_thread(service.session.frame_png, _frame_id(scope))
    return Reply(content, headers=[(b"content-type", b"image/png"), *PRIVATE_HEADERS])


async def boxes(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /frames/N/boxes``: what the shipped and the shown detector find in a kept frame."""
    frame = _frame_id(scope)
    given = _query(scope).get("which", "")
    if given not in ("shipped", "shown"):
        raise _bad(f"which must be shipped or shown; got {given!r:.40}.")
    which: Which = "shipped" if given == "shipped" else "shown"
    found = await service.look(service.session.boxes, frame, which)
    return private([_ints(box) for box in found])


async def judge(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``POST /judge``: the figures of the shipped and the shown detector."""
    return private(_finite(await service.judge()))


async def detector(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /adapted.xml``: the detector that is shown."""
    content = await service.in_thread(service.session.detector_xml)
    return _file(content, b"application/xml", b"adapted.xml")


async def taught(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /annotations.zip``: the taught frames and their boxes."""
    content = await service.in_thread(service.session.annotated_zip)
    return _file(content, b"application/zip", b"annotations.zip")


async def page_file(service: TeachingService, scope: Scope, receive: Receive) -> Reply:
    """``GET /`` and ``GET /page/NAME``: the page, without any data."""
    found = page_files().get(scope["path"])
    if found is None:
        raise HttpError(404, "unknown_path", "The page has no such file.")
    if is_known(scope, found.etag):
        return Reply(b"", NOT_MODIFIED, found.headers)
    return Reply(found.content, headers=found.headers)


TEACHING_PATHS: list[tuple[str, str, Handler[TeachingService]]] = [
    ("/see", "POST", see),
    ("/status", "GET", status),
    ("/source/frame", "GET", source_frame),
    ("/source/see", "POST", source_see),
    ("/facts", "GET", facts),
    ("/reject", "POST", reject),
    ("/mark", "POST", mark),
    ("/free", "POST", free),
    ("/undo", "POST", undo),
    ("/clicks", "GET", clicks),
    ("/frames", "GET", frames),
    ("/frames/{id}/picture", "GET", picture),
    ("/frames/{id}/boxes", "GET", boxes),
    ("/judge", "POST", judge),
    ("/adapted.xml", "GET", detector),
    ("/annotations.zip", "GET", taught),
    ("/take-over", "POST", take_over),
    ("/leave", "POST", leave),
    (OPENING_PATH, "POST", opening),
    ("/", "GET", page_file),
    (PAGE_FOLDER + "{name}", "GET", page_file),
]


def teaching_routes(service: TeachingService) -> list[Route]:
    """The routes, those that are asked most often first."""
    return [Route(path, Endpoint(handler, service), methods=[verb]) for path, verb, handler in TEACHING_PATHS]


def _decoded(kind: type[Any], body: bytes) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _bad(f"The request is not what it must be: {error!s:.200}") from None


async def _click(service: TeachingService, scope: Scope, receive: Receive) -> ClickRequest:
    service.must_teach(scope)
    click: ClickRequest = _decoded(ClickRequest, await service.body(scope, receive, REQUEST_TYPE))
    if click.run != service.run:
        raise HttpError(
            409, "old_frame", "The server was started again since this frame. Click in a newer one."
        )
    return click


def _box(click: ClickRequest) -> tuple[int, int, int, int]:
    if click.box is None:
        raise _bad("A box is needed: x, y, width, height.")
    return click.box


def _frame_of(service: TeachingService, scope: Scope) -> SourceFrame:
    if service.source is None:
        raise HttpError(404, "no_source", "The server was started without a video or pictures.")
    frame = service.source.frame(number_in(_query(scope).get("n", "")))
    if frame is None:
        raise HttpError(404, "end", "There are no more frames.")
    return frame


def _frame_id(scope: Scope) -> int:
    return number_in(scope["path_params"]["id"])


def _query(scope: Scope) -> dict[str, str]:
    return {name: given[-1] for name, given in parse_qs(scope["query_string"].decode("latin-1")).items()}


def _side(query: dict[str, str], name: str) -> int:
    text = query.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) >= MIN_SIDE):
        raise _bad(f"{name} must be a whole number of at least {MIN_SIDE}; got {text!r:.40}.")
    return int(text)


def _name(text: str) -> str:
    """A frame's name as it may be part of a file's: the last part of a path, without what is not printed."""
    last = text.replace("\\", "/").rpartition("/")[2]
    return "".join(c if c.isprintable() else "_" for c in last)[:MAX_NAME]


def _time(text: str | None) -> float | None:
    try:
        found = float(text or "nan")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _ints(box: Any) -> list[int]:
    return [int(side) for side in box]


def _seen(service: TeachingService, seen: Seen) -> dict[str, Any]:
    return {
        "run": service.run,
        "frame": int(seen.frame_id),
        "boxes": [_ints(box) for box in seen.boxes],
        "version": int(seen.version),
        "milliseconds": float(seen.milliseconds),
        "width": int(seen.width),
        "height": int(seen.height),
    }


def _as_dict(click: Click) -> dict[str, Any]:
    return {
        "number": int(click.number),
        "kind": click.kind,
        "frame": int(click.frame_id),
        "box": None if click.box is None else _ints(click.box),
        "undone": bool(click.undone),
    }


def _finite(value: Any) -> Any:
    """The same without numbers that REQUEST_TYPE does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


def _file(content: bytes, media: bytes, name: bytes) -> Reply:
    kept = b'attachment; filename="%s"' % name
    return Reply(
        content, headers=[(b"content-type", media), (b"content-disposition", kept), *PRIVATE_HEADERS]
    )


def _bad(message: str) -> HttpError:
    return HttpError(422, "bad_request", message)
