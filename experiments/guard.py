"""What the guard of `ocboost.live` costs and saves: who answers when labels are wrong, late, or few.

    python experiments/guard.py [--data DIR] [--streams first|second|all|a,b] [--seeds 0,1,2]
                                [--set NAME=VALUE,…] [--cache DIR] [--jobs N] [--brief] [--out FILE]

Every stream is predicted and learnt row by row by an adapted model, beside the deployed one it began as
(all of the first rows and 100 hypotheses: "good"; 200 rows and 10 hypotheses: "weak") and copies of it that
are frozen now and then. `ocboost.live.judge.Judge` sees who was right on the labels that come and decides who
answers; accuracy is on the true ones. Constants of the judge were chosen on the first half of the streams and
are reported on the second; ``--set`` tries others. The last table has trusted rows as the judge instead.
"""

import argparse
import ast
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from parts.guard_series import (
    DRIFTING,
    FIRST,
    HELD_OUT_LABELS,
    HELD_OUT_STREAMS,
    LABELS,
    SECOND,
    SNAPSHOT,
    Series,
    cases,
    poisoned_rows,
    run_held_out,
    series_of,
)

from ocboost.live import judge as module
from ocboost.live.judge import Judge

SHORT = 50  # labels of a tiny stream
ADAPTED, DEPLOYED = 0, 1  # rows of the predictions; copies come after


def answerers(series: Series) -> tuple[Any, int, int]:
    """For every row who answers it (a row of the predictions), the times that changed, the versions saved."""
    predicted = np.concatenate([series.adapted[None], series.deployed[None], series.snapshots])
    right = np.where(predicted < 0, -1, predicted == series.given).T.tolist()
    judge, places = Judge(deployed=0), {None: ADAPTED, 0: DEPLOYED}
    who, n_changes, n_saved = np.zeros(len(right), np.int64), 0, 0
    for t in range(len(right)):
        who[t] = places[judge.answering]
        j = t - series.delay
        if j < 0:
            continue
        before = judge.answering
        known = {number: right[j][places[number]] for number in judge.judged}
        judge.take(right[j][ADAPTED] == 1, {number: hit == 1 for number, hit in known.items() if hit >= 0})
        n_changes += judge.answering != before
        copy = (j + 1) // SNAPSHOT + 1
        if (j + 1) % SNAPSHOT == 0 and copy < len(predicted) and judge.wants_version():
            n_saved += 1
            places[n_saved] = copy
            judge.saved(n_saved)
    return who, n_changes, n_saved


def one(case: tuple[str, str, str, str, int], given: argparse.Namespace) -> dict[str, Any]:
    """One stream with one kind of adapted model, one deployed model and one way of labelling."""
    set_constants(given.set)
    series = series_of(case, given.data, given.cache)
    who, n_changes, n_saved = answerers(series)
    predicted = np.concatenate([series.adapted[None], series.deployed[None], series.snapshots])
    right = {
        "adapted": series.adapted == series.truth,
        "deployed": series.deployed == series.truth,
        "guarded": predicted[who, np.arange(len(who))] == series.truth,
    }
    stream, kind, start, how, seed = case
    n = len(who)
    found: dict[str, Any] = {
        "stream": stream,
        "kind": kind,
        "start": start,
        "labels": how,
        "seed": seed,
        "rows": n,
    }
    found |= {name: 100 * float(hits.mean()) for name, hits in right.items()}
    found |= {"adapted_share": float((who == ADAPTED).mean()), "changes": n_changes, "saved": n_saved}
    found["first_50"] = {name: 100 * float(hits[:SHORT].mean()) for name, hits in right.items()}
    if how in ("poisoned", "one class"):
        part = poisoned_rows(n)
        found["during"] = {name: 100 * float(hits[part].mean()) for name, hits in right.items()}
        found["after"] = {name: 100 * float(hits[part.stop :].mean()) for name, hits in right.items()}
    return found


def set_constants(assignments: str) -> None:
    """Set constants of the judge: ``MARGIN=8,BOUND=50``."""
    for each in filter(None, assignments.split(",")):
        name, _, value = each.partition("=")
        if not hasattr(module, name):
            raise SystemExit(f"there is no {name} in ocboost.live.judge")
        setattr(module, name, ast.literal_eval(value))


def worst(rows: list[dict[str, Any]], against: str, part: str | None = None) -> str:
    """The least and the mean difference of what was answered to another, with the stream of the least."""
    differences = [
        (row[part]["guarded"] - row[part][against], row["stream"])
        if part
        else (row["guarded"] - row[against], row["stream"])
        for row in rows
    ]
    least, stream = min(differences)
    return f"{least:+6.2f} ({stream}), mean {np.mean([each for each, _ in differences]):+6.2f}"


def summary(found: list[dict[str, Any]]) -> list[str]:
    """The demands, and the rest, in lines."""
    lines = []
    for title, half in (("first half", FIRST), ("second half", SECOND)):
        own = [row for row in found if row["stream"] in half]
        if not own:
            continue
        changes = 1000 * sum(row["changes"] for row in own) / sum(row["rows"] for row in own)
        lines.append(f"{title}: {len(own)} runs, {changes:.2f} changes in 1,000 labels")
        for how in LABELS:
            rows = [row for row in own if row["labels"] == how]
            drifting = [row for row in rows if row["stream"] in DRIFTING]
            if not rows:
                continue
            lines.append(f"  {how:14s} to the deployed one: {worst(rows, 'deployed')}")
            lines.append(f"  {'':14s} to the adapted one:  {worst(rows, 'adapted')}")
            if drifting and "flipped" not in how:
                lines.append(f"  {'':14s}   drifting only:     {worst(drifting, 'adapted')}")
            if how in ("poisoned", "one class"):
                lines.append(f"  {'':14s}   during, to deployed: {worst(rows, 'deployed', 'during')}")
                lines.append(f"  {'':14s}   after, to adapted: {worst(rows, 'adapted', 'after')}")
        for how in LABELS[:2]:
            rows = [row for row in own if row["labels"] == how]
            lines.append(
                f"  first {SHORT} rows, {how}: to the deployed one {worst(rows, 'deployed', 'first_50')}"
            )
            lines.append(f"  {'':14s}   to the adapted one {worst(rows, 'adapted', 'first_50')}")
        flipped = [row for row in own if row["labels"] in ("flipped", "rare, flipped")]
        clean = [row for row in own if row["labels"] == "clean" and row["stream"] in DRIFTING]
        below = sum(row["guarded"] < row["deployed"] - 1.0 for row in flipped)
        behind = sum(row["guarded"] < row["adapted"] - 0.5 for row in clean)
        lines.append(f"  more than 1 point below the deployed one, 30 % flipped: {below} of {len(flipped)}")
        lines.append(f"  more than 0.5 points below the adapted one, drifting:   {behind} of {len(clean)}")
    return lines


def table(found: list[dict[str, Any]]) -> list[str]:
    """A line for each run."""
    columns = f"{'stream':17s} {'kind':10s} {'start':5s} {'labels':14s} seed   rows"
    return [
        f"{columns} adapted deployed guarded  share changes",
        *(
            f"{row['stream']:17s} {row['kind']:10s} {row['start']:5s} {row['labels']:14s} {row['seed']:4d} "
            f"{row['rows']:6d} {row['adapted']:7.2f} {row['deployed']:8.2f} {row['guarded']:7.2f} "
            f"{row['adapted_share']:6.2f} {row['changes']:7d}"
            for row in found
        ),
    ]


def main() -> None:
    """Run, print tables, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--streams", default="all")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--set", default="", help="constants of the judge: MARGIN=8,BOUND=50")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "ocboost-guard")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--brief", action="store_true", help="only the summary")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.data = None if given.data is None else Path(given.data)
    given.cache.mkdir(parents=True, exist_ok=True)
    groups = {"all": FIRST + SECOND, "first": FIRST, "second": SECOND}
    names = groups.get(given.streams, tuple(given.streams.split(",")))
    work = cases(names, tuple(map(int, given.seeds.split(","))))
    found = Parallel(given.jobs)(delayed(one)(case, given) for case in work)
    held_out = []
    if not given.brief:
        print("\n".join(table(found)), end="\n\n")
        streams = [name for name in HELD_OUT_STREAMS if name in names]
        todo = [
            (name, kind, how)
            for name in streams
            for kind in ("adaptive", "window")
            for how in HELD_OUT_LABELS
        ]
        held_out = Parallel(given.jobs)(delayed(run_held_out)(*case, given.data) for case in todo)
    print("\n".join(summary(found)))
    if held_out:
        columns = f"{'stream':17s} {'kind':10s} {'labels':14s}"
        print(f"\n1,000 held-out rows judge\n{columns} adapted deployed guarded changes")
        for row in held_out:
            print(
                f"{row['stream']:17s} {row['kind']:10s} {row['labels']:14s} {row['adapted']:7.2f} "
                f"{row['deployed']:8.2f} {row['guarded']:7.2f} {row['changes']:7d}"
            )
    if given.out is not None:
        constants = ("BOUND", "MARGIN", "HEAD_START", "VERSION_BEHIND", "LABELS_BETWEEN")
        written = {
            "constants": {name: getattr(module, name) for name in constants},
            "runs": found,
            "held_out": held_out,
        }
        given.out.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
