"""What a detector finds and misses in a picture, counted in plain loops."""

from __future__ import annotations


def plain_area(box, other):
    """How many pixels two boxes share."""
    across = min(box[0] + box[2], other[0] + other[2]) - max(box[0], other[0])
    down = min(box[1] + box[3], other[1] + other[3]) - max(box[1], other[1])
    return max(across, 0) * max(down, 0)


def plain_overlap(box, other):
    """Intersection over union."""
    shared = plain_area(box, other)
    return shared / (box[2] * box[3] + other[2] * other[3] - shared)


def plain_counts(found, faces, ignored=(), iou=0.5):
    """Misses and false alarms: again and again the pair that overlaps most, of equal ones the first."""
    alone, missed = sorted(map(tuple, found)), list(map(tuple, faces))
    while True:
        best = None
        for box in alone:
            for face in missed:
                overlap = plain_overlap(box, face)
                if overlap >= iou and (best is None or overlap > best[0]):
                    best = overlap, box, face
        if best is None:
            break
        alone.remove(best[1])
        missed.remove(best[2])
    alarms = 0
    for box in alone:
        inside = any(2 * plain_area(box, region) > box[2] * box[3] for region in ignored)
        near = any(plain_overlap(box, region) >= iou for region in ignored)
        alarms += not (inside or near)
    return len(missed), alarms
