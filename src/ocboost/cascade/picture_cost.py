"""What a detector costs: processor time per picture, several detectors side by side."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count, as_number
from ocboost.cascade.detect import Size, detect
from ocboost.cascade.pictures import Picture
from ocboost.cascade.xml import CascadeReader
from ocboost.errors import InputError

Pixels = NDArray[np.uint8]
Detector = Callable[[Pixels], object]


@dataclass(frozen=True)
class PictureCosts:
    """Milliseconds of processor time per picture, in one thread, of each detector by name."""

    ms: dict[str, float]
    n_pictures: int
    with_opencv: bool  # else measured with ocboost's own `detect`, which is another program

    @property
    def ratios(self) -> dict[str, float]:
        """Each detector's time as a multiple of the first one's."""
        first = next(iter(self.ms.values()))
        return {name: ms / first for name, ms in self.ms.items()}

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON can hold them."""
        program = "OpenCV" if self.with_opencv else "ocboost"
        return {"ms": self.ms, "ratios": self.ratios, "pictures": self.n_pictures, "measured_with": program}


def cpu_per_picture(
    cascades_xml: Mapping[str, bytes],
    pictures: Iterable[Picture],
    *,
    scale_factor: float = 1.1,
    min_size: Size | None = None,
    min_neighbors: int = 3,
    repeats: int = 3,
    progress: Callable[[str, int], None] | None = None,
) -> PictureCosts:
    """Time detectors with OpenCV where it is installed, else with our own `detect`.

    Each picture is looked at by all detectors in turn, ``repeats`` times; of these the median counts, and
    of the pictures the mean. So what else the machine does falls on all detectors alike.

    Parameters
    ----------
    cascades_xml : mapping of str to bytes
        Detectors in OpenCV's XML format, not packed; the first is the one that ratios refer to.
    pictures : iterable of Picture
    scale_factor, min_size, min_neighbors
        As in `detect`.
    repeats : int, default 3
    progress : callable, optional
        Called with each picture's name, and how many are done.
    """
    repeats = as_count(repeats, "repeats", 1, None, "Take 3 or so.")
    scale_factor = as_number(scale_factor, "scale_factor", 1.001, np.inf, "Take 1.1 or so.")
    min_neighbors = as_count(min_neighbors, "min_neighbors", 0, None, "OpenCV takes 3.")
    if not cascades_xml:
        raise InputError("cascades_xml must hold at least one detector; got none. Give its XML by a name.")
    total = np.zeros(len(cascades_xml))
    n = 0
    with _detectors(cascades_xml, scale_factor, min_size, min_neighbors) as (detectors, with_opencv):
        for picture in pictures:
            if not n:  # the first call of each allocates
                for find in detectors:
                    find(picture.grey)
            times = np.empty((repeats, len(detectors)))
            for r in range(repeats):
                for k, find in enumerate(detectors):
                    begin = time.process_time()
                    find(picture.grey)
                    times[r, k] = time.process_time() - begin
            total += np.median(times, axis=0)
            n += 1
            if progress is not None:
                progress(picture.name, n)
    if not n:
        raise InputError("pictures must hold at least one picture; got none. Check where they are read from.")
    # A clock that ticks seldom may have seen nothing; ratios need something above 0.
    each = np.maximum(1000.0 * total / n, 1e-6).tolist()
    return PictureCosts(dict(zip(cascades_xml, each, strict=True)), n, with_opencv)


@contextmanager
def _detectors(
    cascades_xml: Mapping[str, bytes], scale_factor: float, min_size: Size | None, min_neighbors: int
) -> Iterator[tuple[list[Detector], bool]]:
    """A function of a picture for each detector; OpenCV has one thread meanwhile."""
    cv2: Any = None
    with suppress(ImportError):
        import cv2
    if cv2 is None:
        cascades = [CascadeReader(data, name).read()[0] for name, data in cascades_xml.items()]
        yield [_own(cascade, scale_factor, min_neighbors, min_size) for cascade in cascades], False
        return
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        classifiers = [_loaded(cv2, name, data) for name, data in cascades_xml.items()]
        settings = (scale_factor, min_neighbors, 0, min_size or (0, 0))
        yield [_opencvs(classifier, settings) for classifier in classifiers], True
    finally:
        cv2.setNumThreads(before)


def _own(cascade: Any, *settings: Any) -> Detector:
    return lambda grey: detect(cascade, grey, *settings)


def _opencvs(classifier: Any, settings: tuple[Any, ...]) -> Detector:
    return lambda grey: classifier.detectMultiScale(grey, *settings)


def _loaded(cv2: Any, name: str, data: bytes) -> Any:
    """OpenCV reads files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "detector.xml"
        path.write_bytes(data)
        classifier = cv2.CascadeClassifier()
        loaded = False
        with suppress(cv2.error):  # of what is no XML at all; of other XML it says no
            loaded = classifier.load(str(path))
    if not loaded:
        raise InputError(
            f"cascades_xml must hold detectors that OpenCV loads; it does not load '{name}'. Was the file "
            "unpacked?"
        )
    return classifier
