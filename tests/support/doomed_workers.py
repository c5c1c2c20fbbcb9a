"""Workers of a Dask cluster that die at a given place of a fit; what is here is run on them."""

from __future__ import annotations

import os
import signal

from ocboost.dask import collectives


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def freeze():
    os.kill(os.getpid(), signal.SIGSTOP)


def die_in_sum(number, die=die):
    """Let this worker die when it is about to send its part of a sum; the others wait for it then."""
    before, calls = collectives._Abortable.sum, [0]

    def sum_or_die(self, values):
        calls[0] += 1
        if calls[0] == number:
            die()
        return before(self, values)

    collectives._Abortable.sum = sum_or_die


def die_before_joining():
    """Let this worker die before it joins the others."""
    collectives._xgboost_joined = lambda group, rank: die()
    collectives.ActorCollective = lambda group, rank, exchange: die()


_has_xgboost = collectives.has_xgboost


def _has_none():
    return False


def hide_xgboost():
    """Let this worker say that it has no XGBoost."""
    collectives.has_xgboost = _has_none


def show_xgboost():
    """Let this worker say whether it has XGBoost."""
    collectives.has_xgboost = _has_xgboost
