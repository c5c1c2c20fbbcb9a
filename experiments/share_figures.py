"""The figures of the README and the site's front page, for light and for dark pages.

    python experiments/share_figures.py                          # draws what was measured
    python experiments/share_figures.py --measure --data DIR     # measures anew: half an hour

`deployed`: a deployed AdaBoost on four real streams, as it is and adopted (`parts/share_deployed.py`).
`memory`: distance to AdaBoost against memory, with the paper's update and MOA's (`parts/share_memory.py`; the
curves are those of `heavy_head.py`). `camera`: a face detector before and after it has learnt its camera
(`parts/share_camera.py`; the bars are those of `pictures.py`). `--only` chooses; `--quick` measures little,
and writes only where `--out` says.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))  # MOA is run as there

from parts import share_camera, share_deployed, share_draw, share_memory
from parts.heavy_margins import Folders

RESULTS = Path(__file__).parent / "results"
FIGURES = Path(__file__).parent.parent / "docs" / "figures" / "share"
PARTS = {"deployed": share_deployed.measure, "memory": share_memory.measure, "camera": share_camera.measure}


def drawn(name: str, record: list[dict[str, Any]]) -> Any:
    """The figure of that name."""
    if name == "deployed":
        return share_draw.deployed(record)
    if name == "memory":
        curve = json.loads((RESULTS / "heavy_curve.json").read_text(encoding="utf-8"))
        return share_draw.memory(curve, record)
    for detector, (found, faces, alarms) in share_draw.tallies(record).items():
        print(f"{detector}: {found} of {faces} faces found, {alarms} false alarms in {len(record)} scenes")
    return share_draw.camera(record, share_camera.rates(RESULTS))


def main() -> None:
    """Measure if asked to, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--quick", action="store_true", help="with --measure: less of everything")
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--cache", type=Path, help="stores the answers of stumps, balls and filters")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", type=Path, help="folder for results and figures")
    options = parser.parse_args()
    names = options.only.split(",")
    for name in names:
        if name not in PARTS:
            parser.error(f"--only must name some of {', '.join(PARTS)}; got {name!r}")
    if options.quick and options.out is None:
        parser.error("--quick needs --out: what it measures is too little to be kept")
    folders = Folders(Path(options.data) if options.data else None, options.cache)
    for name in names:
        path = (options.out or RESULTS) / f"share_{name}.json"
        if options.measure:
            record = list(PARTS[name](options.quick, folders))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record, allow_nan=False).replace("}, {", "},\n {") + "\n")
        record = json.loads(path.read_text(encoding="utf-8"))
        share_draw.write(drawn(name, record), name, options.out or FIGURES)


if __name__ == "__main__":
    main()
