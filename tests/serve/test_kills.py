"""The service as a process, killed under load: ``experiments/kills.py`` does it 200 times."""

from __future__ import annotations

import asyncio
import sys

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("cyclopts")
if sys.platform == "win32":
    pytest.skip("processes are killed by signals", allow_module_level=True)

from tests.support.kills import Killings, check_killed
from tests.support.serving import ServiceProcess, write_model


def test_nothing_acknowledged_is_lost_or_learnt_twice(tmp_path):
    model = write_model(tmp_path / "model.ocb", J=20, rows=300)
    with ServiceProcess(model, tmp_path / "state", forked=True) as service:
        killings = Killings(service, clients=4, seed=3)
        asyncio.run(killings.run(kills=3, longest=0.4))
        check_killed(killings)
    assert killings.wrong == []
    assert killings.counts["labels accepted"] > 0


def test_what_is_lost_or_learnt_twice_is_noticed(tmp_path):
    """The checks themselves: memories of clients that do not agree with the journal."""
    model = write_model(tmp_path / "model.ocb", J=20, rows=300)
    with ServiceProcess(model, tmp_path / "state", forked=True) as service:
        killings = Killings(service, clients=1, seed=3)
        killings.ledgers[0].waiting["never predicted"] = 1
        asyncio.run(killings.run(kills=0))
        check_killed(killings)
    assert any("never predicted" in each and "unknown_id" in each for each in killings.wrong)
    assert any("labels are learnt" in each for each in killings.wrong)
