"""Two hundred mutated requests against the process: ``experiments/mutated_requests.py`` sends 10,000."""

from __future__ import annotations

import asyncio
import sys

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("cyclopts")
if sys.platform == "win32":
    pytest.skip("processes are ended by signals", allow_module_level=True)

from tests.support.mutated import MAX_BODY, Mutations, bombard
from tests.support.serving import ServiceProcess, write_model

COLUMNS = [f"x{i}" for i in range(4)]


def test_nothing_that_is_sent_ends_it_or_is_its_fault(tmp_path):
    model = write_model(tmp_path / "model.ocb", features=len(COLUMNS), J=20, rows=300)
    with ServiceProcess(model, tmp_path / "state", "--max-body", MAX_BODY, forked=True) as service:
        seen = asyncio.run(bombard(service, 200, seed=1, columns=COLUMNS))
        assert seen.wrong == []
        assert service.stop() == 0
    refused = sum(n for status, n in seen.statuses.items() if status.startswith("4"))
    assert refused > 100


def test_the_same_seed_gives_the_same_requests():
    mutations = [Mutations(seed, COLUMNS, ["a"]) for seed in (1, 1, 2)]
    drawn = [[each.draw().pieces for _ in range(20)] for each in mutations]
    assert drawn[0] == drawn[1] != drawn[2]
