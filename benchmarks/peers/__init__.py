"""The peers, one a file.

Each module of `PEERS` has one function, ``methods(columns)``, which returns what to time at that size and
raises `harness.UnavailableError` with the reason where the peer cannot run. `moa_oza` is for
``oza_russell.py``, `stream_learners` for ``adaptive.py``.
"""

from collections.abc import Callable

from harness import Columns, Method

from peers import moa, river_adaboost, sklearn_sgd, vowpal_wabbit

PEERS: dict[str, Callable[[Columns], list[Method]]] = {
    "moa": moa.methods,
    "river": river_adaboost.methods,
    "sklearn": sklearn_sgd.methods,
    "vw": vowpal_wabbit.methods,
}
