"""Whether what a file says can be the state of a `HuangBooster`."""

from __future__ import annotations

import numpy as np

from ..fields import Fields
from ..kernels.bits import first_not_a_margin
from ..kernels.huang import LIMIT, Past, Point, Recent


def require_sound(past: Past, recent: Recent, point: Point, fields: Fields) -> None:
    """Refuse a state that no examples lead to; its arrays have their shapes and types already."""
    window = len(recent.rows)
    seen, held, oldest = (int(count) for count in recent.counts)
    fields.require(0 <= held <= min(seen, window), "its counts make no sense")
    place = 0 <= oldest < window if held == window else oldest == 0
    fields.require(place, "its ring is torn")
    fields.require(first_not_a_margin(recent.rows[:held].reshape(-1)) < 0, "rows must be -1 and +1")
    log_weight, born, group = recent.log_weight[:held], recent.born[:held], recent.group[:held]
    fields.require((np.abs(log_weight) < 800).all(), "log_weight must be that of a double")
    fields.require(((born >= 1) & (born <= seen)).all(), "born must be numbers of examples")
    fields.require(((group == 0) | (group == 1)).all(), "group must be 0 or 1")
    fields.require(((past.right >= 0) & (past.right <= 1)).all(), "right must lie from 0 to 1")
    fields.require((past.log_mass < 800).all(), "log_mass must be the log of a sum of weights")
    fields.require((np.abs(point.alpha) <= LIMIT).all(), f"alpha must lie within ±{LIMIT:g}")
    fields.require(1e-6 <= point.length[0] <= 1e6, "length must be that of a step")
