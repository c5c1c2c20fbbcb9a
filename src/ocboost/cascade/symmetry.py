"""Whether a camera shows faces that look alike when mirrored.

Mirrored faces teach a detector twice as much, but not behind a camera that hangs askew or has its light from
one side: there they show what the camera never does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ocboost.cascade.bounds import share_bounds

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

ALIKE = 0.6  # a share of faces that lean to the same side, which chance and a light from the side reach


def mirrored_look_alike(faces: Pixels) -> bool:
    """Whether faces, (n, height, width), may be mirrored; with a few faces, unless it is plain they may not.

    What a face and its mirror image differ by is compared with the mean difference of all other faces. If
    faces lean to no side, half of them agree with the others.
    """
    if len(faces) < 2:
        return True
    windows = faces.astype(np.float64)
    windows -= windows.mean(axis=(1, 2), keepdims=True)
    windows /= np.maximum(windows.std(axis=(1, 2), keepdims=True), 1e-9)
    leaning = (windows - windows[:, :, ::-1]).reshape(len(windows), -1)
    agreement: Floats = leaning @ leaning.sum(axis=0) - np.einsum("ij,ij->i", leaning, leaning)
    return share_bounds(int((agreement > 0.0).sum()), len(faces))[0] <= ALIKE
