"""What the synthetic experiment has to say: in words, a table and a picture."""

from __future__ import annotations

from itertools import pairwise

from ocboost._report.tables import Row, Table
from ocboost.paper import synthetic_figure
from ocboost.paper.section import Headline, Part, Picture
from ocboost.paper.synthetic import METHODS, ORDERS, SyntheticResult


def part(result: SyntheticResult) -> Part:
    """The experiment's share of the report.

    Parameters
    ----------
    result : SyntheticResult
        What `ocboost.paper.synthetic.run_synthetic` returned.
    """
    settings, record = result.settings, result.as_dict()
    pairs = [f"({seed}, {run})" for seed, run in record["seeds"]]
    return Part(
        name="synthetic",
        title="Synthetic data: margins that drift",
        about=(
            f"Each of {settings.n_hypotheses} hypotheses is right with a probability of its own. "
            f"{settings.in_words[0].upper()}{settings.in_words[1:].replace(' x ', ' × ')}: from one matrix "
            "to the next the probabilities move a little. The online methods see the margins one by one; at "
            "each checkpoint their weights are compared with those of AdaBoost on everything seen so far, by "
            "½‖α_ada/‖α_ada‖₁ - α/‖α‖₁‖₁."
        ),
        source="The margins are drawn.",
        words=findings(result),
        tables=(table(result),),
        pictures=(
            Picture(
                stem="synthetic",
                alt="Approximation error to AdaBoost of each method against the number of training examples",
                says=(
                    "the approximation error as examples come, concept drift every 10,000, mean of 5 runs; "
                    "accuracy improves with higher order (figure 1a)."
                ),
                figure=synthetic_figure.draw(result),
                shows=_shows(result),
            ),
        ),
        chosen=record["chosen_here"],
        seeds=f"Run r draws from the seed pair (seed, r): {', '.join(pairs)}.",
        seconds=result.seconds,
        notes=(),
        quick=settings.quick,
        results=record,
        headline=(
            Headline(
                "Synthetic, mean approximation error",
                tuple(
                    result.mean_error(key)
                    for key in (
                        "oza-russell",
                        f"ocb-order-{ORDERS[-1]}",
                        "ocb-balanced",  # its order is the full one
                        "ocb-balanced",
                        "ocb-head",
                        "ocb-head-newest",
                    )
                ),
                ".4f",
            ),
        ),
    )


def table(result: SyntheticResult) -> Table:
    """Every method: mean error, final error, and the ratio to Oza and Russell."""
    settings = result.settings
    yardstick = result.mean_error("oza-russell")
    rows = []
    for method in METHODS:
        error = result.mean_error(method.key)
        rows.append(
            Row(
                (
                    method.label.removesuffix(", cold start")
                    + (" (diverged)" if result.diverged[method.key] else ""),
                    f"{settings.start} rows" if method.warm else "cold",
                    f"{error:.4f}",
                    f"{result.final_error(method.key):.4f}",
                    f"{error / yardstick:.2f}" if yardstick > 0.0 else "–",
                )
            )
        )
    return Table(
        f"Approximation error to batch AdaBoost{' (quick)' if settings.quick else ''}",
        ("method", "start", "mean error", "final error", "to Oza and Russell"),
        tuple(rows),
        f"{settings.in_words.replace(' x ', ' × ')}. The paper prints no numbers for this experiment.",
    )


def findings(result: SyntheticResult) -> tuple[str, ...]:
    """What the table shows, in plain words that follow from its numbers."""
    theorem, listing = by_order(result)
    oza = result.mean_error("oza-russell")
    balanced, head = result.mean_error("ocb-balanced"), result.mean_error("ocb-head")
    newest = result.mean_error("ocb-head-newest")
    falls = "falls with every order" if _falling(theorem) else "does not fall with every order"
    rises = "gets worse with order" if _falling(listing[::-1]) else "does not get worse with every order"
    closer = "at least as close as" if balanced <= theorem[-1] else "less close than"
    helps = "closer still" if head < balanced else "no closer"
    wild = [method.label for method in METHODS if result.diverged[method.key]]
    return (
        f"By the paper's theorem, from a warm start, OCB's error {falls} "
        f"({theorem[0]:.4f} to {theorem[-1]:.4f}; Oza and Russell {oza:.4f}).",
        f"The listing as printed {rises} ({listing[0]:.4f} to {listing[-1]:.4f}).",
        f"With our balanced correction and from a cold start OCB is {closer} the theorem at order "
        f"{ORDERS[-1]} from a warm one "
        f"({balanced:.4f}); with a head of the examples that weigh it is {helps} ({head:.5f}; of the newest "
        f"{newest:.4f}).",
        *([f"Diverged in some run: {'; '.join(wild)}."] if wild else []),
    )


def by_order(result: SyntheticResult) -> tuple[list[float], list[float]]:
    """Mean errors for each of `ORDERS`: by the theorem, and as printed."""
    last = ORDERS[-1]
    theorem = [result.mean_error(f"ocb-order-{order}") for order in ORDERS]
    keys = ["ocb-listing" if order == last else f"ocb-listing-order-{order}" for order in ORDERS]
    return theorem, [result.mean_error(key) for key in keys]


def _shows(result: SyntheticResult) -> str:
    theorem, listing = by_order(result)
    oza = result.mean_error("oza-russell")
    order = "accuracy improves with every order" if _falling(theorem) else "higher order is not always better"
    printed = "above" if listing[-1] > oza else "not above"
    return (
        f"{order}, to {theorem[-1]:.4f} at order {ORDERS[-1]}; the listing as printed ends up {printed} "
        f"Oza and Russell on average ({listing[-1]:.4f} against {oza:.4f})."
    )


def _falling(values: list[float]) -> bool:
    return all(after < before for before, after in pairwise(values))
