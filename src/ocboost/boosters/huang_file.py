"""Whether what a file says can be the state of a `HuangBooster`."""

from __future__ import annotations

import numpy as np

from ..kernels.bits import first_not_a_margin
from ..kernels.huang import LIMIT, Past, Point, Recent
from ..storage import require


def require_sound(past: Past, recent: Recent, point: Point, name: str) -> None:
    """Refuse a state that no examples lead to; its arrays have their shapes and types already."""
    window = len(recent.rows)
    seen, held, oldest = (int(count) for count in recent.counts)
    require(0 <= held <= min(seen, window), name, "its counts make no sense")
    place = 0 <= oldest < window if held == window else oldest == 0
    require(place, name, "its ring is torn")
    require(first_not_a_margin(recent.rows[:held].reshape(-1)) < 0, name, "rows must be -1 and +1")
    log_weight, born, group = recent.log_weight[:held], recent.born[:held], recent.group[:held]
    require(bool((np.abs(log_weight) < 800).all()), name, "log_weight must be that of a double")
    require(bool(((born >= 1) & (born <= seen)).all()), name, "born must be numbers of examples")
    require(bool(((group == 0) | (group == 1)).all()), name, "group must be 0 or 1")
    require(bool(((past.right >= 0) & (past.right <= 1)).all()), name, "right must lie from 0 to 1")
    require(bool((past.log_mass < 800).all()), name, "log_mass must be the log of a sum of weights")
    require(bool((np.abs(point.alpha) <= LIMIT).all()), name, f"alpha must lie within ±{LIMIT:g}")
    require(bool(1e-6 <= point.length[0] <= 1e6), name, "length must be that of a step")
