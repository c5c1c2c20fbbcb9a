"""A process that is killed while it learns, and started again; `experiments/fleet_kills.py` kills more."""

from __future__ import annotations

import pytest

pytest.importorskip("lmdb")

from tests.fleet.kills import FleetKills


@pytest.mark.parametrize("K", [2, 3])
def test_kills_change_nothing(tmp_path, K):
    run = FleetKills(tmp_path, n=4000, K=K, seed=K)
    run.run(3 if K == 2 else 1, longest=0.3)
    assert run.wrong == []
