"""Small cascades, their XML, and what they say to a window, in plain loops over pixels."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ocboost.cascade import Cascade

LICENCE = "<!--\n  A licence of <many> words & marks.\n-->"


def random_rect(rng, width, height, tilted):
    while True:
        x, y = rng.integers(0, width), rng.integers(0, height)
        w, h = rng.integers(1, width + 1), rng.integers(1, height + 1)
        if not tilted and x + w <= width and y + h <= height:
            return x, y, w, h
        if tilted and x - h >= 0 and x + w <= width and y + w + h <= height:
            return x, y, w, h


def random_features(rng, n, width, height, share_tilted):
    rects, weights = np.zeros((n, 3, 4), np.int32), np.zeros((n, 3), np.float32)
    tilted = rng.random(n) < share_tilted
    for f in range(n):
        count = rng.integers(2, 4) if f % 8 else 1
        for r in range(count):
            rects[f, r] = random_rect(rng, width, height, tilted[f])
            weights[f, r] = rng.choice([-1.0, 1.0, 2.0, -2.0, 3.0, 0.1])
        if count > 1:  # brightness then hardly matters
            area = rects[f, :, 2] * rects[f, :, 3]
            last = count - 1
            weights[f, last] = -(weights[f, :last] * area[:last]).sum() / area[last]
    return rects, weights, tilted


def random_cascade(seed=0, width=8, height=7, stages=(3, 4, 5), max_nodes=1, share_tilted=0.0, n_features=12):
    """A cascade whose thresholds split windows of noise, and whose stages reject some of them."""
    rng = np.random.default_rng(seed)
    rects, weights, tilted = random_features(rng, n_features, width, height, share_tilted)
    sizes = [int(rng.integers(1, max_nodes + 1)) for _ in range(sum(stages))]
    left, right = [], []
    for n in sizes:  # a chain: each node has a leaf and the next node, the last one two leaves
        for k in range(n):
            last = k == n - 1
            sides = [-k, -(k + 1) if last else k + 1]
            if not last and rng.random() < 0.5:
                sides.reverse()
            left.append(sides[0])
            right.append(sides[1])
    N = sum(sizes)
    return Cascade(
        width,
        height,
        rects,
        weights,
        tilted,
        rng.integers(0, n_features, N).astype(np.int32),
        rng.normal(0, 0.05, N).astype(np.float32),
        np.array(left, np.int32),
        np.array(right, np.int32),
        rng.normal(0, 1, N + len(sizes)).astype(np.float32),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        np.concatenate([[0], np.cumsum(np.array(sizes) + 1)]).astype(np.int32),
        np.concatenate([[0], np.cumsum(stages)]).astype(np.int32),
        rng.normal(-1, 0.5, len(stages)).astype(np.float32),
    )


def noise(seed, n, height, width):
    """Windows of noise, of different brightness and contrast; some are flat."""
    rng = np.random.default_rng(seed)
    mean, spread = rng.uniform(60, 200, (n, 1, 1)), rng.uniform(0, 90, (n, 1, 1))
    return np.clip(rng.normal(mean, spread, (n, height, width)), 0, 255).astype(np.uint8)


def as_xml(cascade, digits=".9g"):
    """A cascade's XML, laid out in another way than the writer's."""
    lines = [
        '<?xml version="1.0"?>',
        LICENCE,
        "<opencv_storage>",
        '<cascade type_id="opencv-cascade-classifier">',
    ]
    lines += ["<stageType>BOOST</stageType>", "<featureType>HAAR</featureType>"]
    lines += [f"<height>{cascade.height}</height>", f"<width>{cascade.width}</width>"]
    most = np.diff(cascade.stage_tree).max()
    lines += [f"<stageParams><maxWeakCount>{most}</maxWeakCount></stageParams>"]
    lines += ["<featureParams><maxCatCount>0</maxCatCount></featureParams>"]
    lines += [f"<stageNum>{cascade.n_stages}</stageNum>", "<stages>"]
    for s in range(cascade.n_stages):
        first, end = cascade.stage_tree[s : s + 2]
        lines += [f"  <!-- stage {s} -->", "  <_>", f"    <maxWeakCount>{end - first}</maxWeakCount>"]
        lines += [f"    <stageThreshold>{cascade.stage_threshold[s]:{digits}}</stageThreshold>"]
        lines += ["    <weakClassifiers>"]
        for t in range(first, end):
            nodes = [
                f"{cascade.node_left[n]} {cascade.node_right[n]} {cascade.node_feature[n]} "
                f"{cascade.node_threshold[n]:{digits}}"
                for n in range(cascade.tree_node[t], cascade.tree_node[t + 1])
            ]
            leaves = [f"{v:{digits}}" for v in cascade.leaf[cascade.tree_leaf[t] : cascade.tree_leaf[t + 1]]]
            lines += [f"      <_><internalNodes>{' '.join(nodes)}</internalNodes>"]
            lines += [f"        <leafValues>\n{' '.join(leaves)}</leafValues></_>"]
        lines += ["    </weakClassifiers></_>"]
    lines += ["</stages>", "<features>"]
    for f in range(cascade.n_features):
        lines += ["  <_><rects>"]
        for rect, weight in zip(cascade.rects[f].tolist(), cascade.weights[f], strict=True):
            if rect[2]:
                lines += [f"    <_>{' '.join(map(str, rect))} {weight:{digits}}</_>"]
        lines += [f"  </rects><tilted>{int(cascade.tilted[f])}</tilted></_>"]
    lines += ["</features>", "</cascade>", "</opencv_storage>", ""]
    return "\n".join(lines).encode()


def data_folder():
    """The folder of the face data, or None where the variable OCBOOST_DATA does not name it."""
    place = Path(os.environ.get("OCBOOST_DATA", "nowhere"))
    return place if (place / "faces" / "faces24_test.png").is_file() else None
