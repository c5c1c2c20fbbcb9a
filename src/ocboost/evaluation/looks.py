"""How the line of each method looks: one look per method, the same in every figure and on every page.

OCB has strong lines, a fixed model is black, baselines are grey, and the others have thinner lines that are
not solid. Methods that take part by default have colours of their own; the others share one only with a
method whose line is dashed differently.

>>> looks_of(["ocb", "mine"])["ocb"] == looks_of(["eg", "OCB, all history"])["OCB, all history"]
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from ..reporting.figure_style import BLUES, GREEN, GREY, HUES, INK, ORANGE, PALE, PURPLE
from .learner import Role

Dash = tuple[float, ...]  # lengths of strokes and gaps, in widths of the line; none is a solid line
DASHES: tuple[Dash, ...] = ((5, 1.5), (2, 1.2), (6, 1.5, 1, 1.5), (9, 2, 3, 2))
STRONG = (BLUES[2], ORANGE, GREEN, PURPLE, BLUES[3], HUES["brown"], HUES["teal"], HUES["magenta"])
THIN = tuple(HUES[name] for name in ("rose", "olive", "sky", "mauve", "slate", "ochre", "sea", "clay"))


@dataclass(frozen=True)
class Look:
    """How a line is drawn.

    Parameters
    ----------
    colour : str
    dash : tuple of float
        Lengths of strokes and gaps, in widths of the line; an empty one is a solid line.
    width : float
        In points.
    layer : int
        Higher ones are drawn over lower ones.
    """

    colour: str
    dash: Dash
    width: float
    layer: int

    @property
    def line(self) -> dict[str, Any]:
        """The same in matplotlib's words."""
        style = (0, self.dash) if self.dash else "-"
        return {"color": self.colour, "ls": style, "lw": self.width, "zorder": self.layer}


def looks_of(names: Sequence[str], roles: Mapping[str, Role] | None = None) -> dict[str, Look]:
    """The look of each of these methods, by name.

    Parameters
    ----------
    names : sequence of str
        Those of `METHODS`, or their titles, look the same whoever else takes part. Others take what is
        left, in their order.
    roles : mapping, optional
        The roles of the others; rivals if left out.
    """
    known = _known()
    taken = set(known.values())
    colours = {known[name].colour for name in names if name in known}
    found: dict[str, Look] = {}
    for name in names:
        look = known.get(name)
        if look is None:
            all_ = list(_all((roles or {}).get(name, "rival")))
            free = [each for each in all_ if each not in taken] or all_
            look = next((each for each in free if each.colour not in colours), free[0])
            taken.add(look)
            colours.add(look.colour)
        found[name] = look
    return found


def _all(role: Role) -> Iterator[Look]:
    """All looks that a role may have, the plainest first."""
    solid: tuple[Dash, ...] = ((),)
    if role == "ocb":
        yield from (Look(colour, dash, 2.0, 5) for dash, colour in product(solid + DASHES, STRONG))
    elif role == "static":
        yield from (Look(INK, dash, 1.8, 4) for dash in solid + DASHES)
    elif role == "baseline":
        yield from (Look(colour, dash, 1.2, 2) for dash, colour in product(solid + DASHES, (PALE, GREY)))
    else:  # neighbours differ in both, for those who see few colours
        for round_, place in product(range(len(DASHES)), range(len(THIN))):
            yield Look(THIN[place], DASHES[(round_ + place) % len(DASHES)], 1.5, 3)


@cache
def _known() -> dict[str, Look]:
    """The looks of all methods, by name and by title; those that take part by default choose first."""
    from .methods import METHODS

    left: dict[Role, Iterator[Look]] = {role: _all(role) for role in ("ocb", "static", "baseline", "rival")}
    ranked = sorted(METHODS.values(), key=lambda method: not (method.usual or method.role == "ocb"))
    looks = [(method, next(left[method.role])) for method in ranked]
    return {key: look for method, look in looks for key in (method.name, method.title)}
