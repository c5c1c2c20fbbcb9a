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


def plain_sum(window, rect, tilted):
    """The sum of the pixels in a rectangle, pixel by pixel."""
    x, y, w, h = (int(v) for v in rect)
    total = 0
    if not w:
        return 0
    tips = [(x, y, 1), (x - h, y + h, -1), (x + w, y + w, -1), (x + w - h, y + w + h, 1)]
    for row in range(window.shape[0]):
        for column in range(window.shape[1]):
            if tilted:  # in the triangle above each of four tips, or not
                share = sum(s for a, b, s in tips if row < b and abs(column - a + 1) <= b - row - 1)
            else:
                share = int(x <= column < x + w and y <= row < y + h)
            total += share * window[row, column].item()
    return total


def plain_factor(window):
    """What a window's values are multiplied by, and whether it is looked at."""
    inner = window[1:-1, 1:-1].reshape(-1).tolist()
    area = float(len(inner))
    spread = area * sum(v * v for v in inner) - float(sum(inner)) ** 2
    if spread <= 0:
        return np.float32(1), False
    factor = np.float32(1.0 / np.sqrt(spread))
    return factor, area * float(factor) < 0.1


def plain_value(cascade, window, f, factor):
    value = np.float32(0)
    for r in range(3):
        inside = plain_sum(window, cascade.rects[f, r], cascade.tilted[f])
        value = np.float32(value + np.float32(cascade.weights[f, r] * np.float32(inside)))
    return np.float32(value * factor)


def plain_stage_sum(cascade, window, s):
    factor, _ = plain_factor(window)
    total = 0.0
    for t in range(cascade.stage_tree[s], cascade.stage_tree[s + 1]):
        node = 0
        while True:
            n = cascade.tree_node[t] + node
            value = plain_value(cascade, window, cascade.node_feature[n], factor)
            node = cascade.node_left[n] if value < cascade.node_threshold[n] else cascade.node_right[n]
            if node <= 0:
                break
        total += float(cascade.leaf[cascade.tree_leaf[t] - node])
    return total


def plain_passed(cascade, window):
    if not plain_factor(window)[1]:
        return 0
    for s in range(cascade.n_stages):
        if plain_stage_sum(cascade, window, s) < float(
            np.float32(cascade.stage_threshold[s] - np.float32(1e-5))
        ):
            return s
    return cascade.n_stages


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
