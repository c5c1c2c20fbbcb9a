"""Windows for the commands of ``ocboost cascade``, read with a progress bar."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ocboost.cli.terminal import say, steps_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ocboost.cascade import Cascade


def read_windows(option: str, place: Path, cascade: Cascade) -> NDArray[np.uint8]:
    """The windows that an option names, of the cascade's size."""
    from ocboost.cascade.sources import windows_in

    with steps_progress("reading") as told:

        def progress(done: int, total: int) -> None:
            told(option, done, total)

        return windows_in(place, cascade.width, cascade.height, name=option, tell=say, progress=progress)
