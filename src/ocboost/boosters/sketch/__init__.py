"""The boosting sketch, `BoostingSketch`, the arrays it keeps and how they are folded, merged and saved."""

from ocboost.boosters.sketch.sketch import BoostingSketch

__all__ = ["BoostingSketch"]
