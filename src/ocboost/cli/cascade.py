"""``ocboost cascade``: detectors of OpenCV adapted to a camera, looked at, used and compared."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from ocboost.cli.cascade_adapt import adapt
from ocboost.cli.cascade_detect import detect
from ocboost.cli.cascade_evaluate import evaluate
from ocboost.cli.cascade_live import live
from ocboost.cli.cascade_shared import print_table, require_places
from ocboost.cli.terminal import results

HELP = """Adapt a detector of OpenCV (a cascade of Haar features, XML) to the windows of one camera.

Learn from windows of the camera:
    ocboost cascade adapt detector.xml --faces f/ --others o/ --out adapted.xml

Was it worth it, on other windows:
    ocboost cascade evaluate detector.xml adapted.xml --faces f/ --others o/

Find faces in pictures:
    ocboost cascade detect adapted.xml pictures/ --out found/

Teach it by clicking, with the browser's camera, a video or pictures:
    ocboost cascade live detector.xml

Windows are a folder of image files, each one window, or a grey PNG whose
tiles are the windows. OpenCV loads the adapted file as it loads any other:
cv2.CascadeClassifier("adapted.xml").
"""

app = App(name="cascade", help=HELP, help_format="plaintext")


@app.command
def info(detector: Path, /) -> int:
    """Show what is inside a detector: its window, its stages, their stumps and thresholds.

    For example:
        ocboost cascade info haarcascade_frontalface_default.xml

    Parameters
    ----------
    detector
        A cascade of Haar features in OpenCV's XML format, gzipped or not.
    """
    require_places(detector)

    import numpy as np

    from ocboost.cascade import read_cascade

    cascade = read_cascade(detector).cascade
    stumps = cascade.max_nodes == 1
    word = "stumps" if stumps else "trees"
    tilted = int(cascade.tilted[np.unique(cascade.node_feature)].sum())
    turned = f"{tilted:,} of those in use tilted" if tilted else "none tilted"
    console = results()
    console.print(
        f"{detector}: windows of {cascade.width} × {cascade.height} pixels; {cascade.n_stages:,} stages, "
        f"{cascade.n_trees:,} {word}{'' if stumps else f' of up to {cascade.max_nodes} nodes'}; "
        f"{cascade.n_features:,} features, {turned}.",
        soft_wrap=True,
    )
    ends = cascade.stage_tree.tolist()
    rows = (
        (str(s), f"{ends[s] - ends[s - 1]:,}", f"{ends[s]:,}", f"{float(cascade.stage_threshold[s - 1]):.6g}")
        for s in range(1, len(ends))
    )
    print_table(console, "Stages", ("stage", word, "up to here", "threshold"), rows)
    if not stumps:
        console.print("ocboost adapts cascades of stumps; this one can be evaluated only.", soft_wrap=True)
    return 0


app.command(adapt)
app.command(detect)
app.command(evaluate)
app.command(live)
