"""Threads that read while one learns, for a long time: no intermediate state may be seen, saved or learnt.

Every public object that learns goes through its steps in one thread, then repeatedly while three other
threads read it in every way there is. The subjects and rules are those of `tests/support/thread_stress.py`.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import ocboost

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import thread_stress


def main() -> int:
    """Run all trials and say what was wrong; 1 if anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200, help="of each subject in each setting")
    parser.add_argument("--only", default="", help="subjects whose name holds this")
    parser.add_argument("--readers", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a JSON file for the counts")
    given = parser.parse_args()
    faulthandler.enable()
    subjects = [
        *thread_stress.subjects(),
        thread_stress.freshly_loaded(),
        *thread_stress.really_long_folds(),
    ]
    counts: dict[str, dict[str, int]] = {}
    for subject in subjects:
        if given.only not in subject.name:
            continue
        long_already = subject.name in ("sketch, long folds", "sketch, large batches")
        begun, faults, n = time.perf_counter(), Counter(), 0
        for n_threads in (1, 2):
            ocboost.set_num_threads(n_threads)
            short_ones = nullcontext() if long_already else thread_stress.short_folds_are_long()
            with short_ones if n_threads == 2 else nullcontext():
                alone = thread_stress.expected(subject)
                for interval in (None, 1e-6):
                    trials = given.trials // 20 or 1 if long_already else given.trials
                    for seed in range(trials):
                        with thread_stress.switching(interval):
                            faults.update(
                                thread_stress.trial(subject, alone, n_readers=given.readers, seed=seed)
                            )
                        n += 1
        counts[subject.name] = {"trials": n, "faults": sum(faults.values())}
        seconds = time.perf_counter() - begun
        print(
            f"{subject.name:32s} {n:5d} trials {sum(faults.values()):5d} faults {seconds:7.1f} s", flush=True
        )
        for fault, times in faults.most_common(5):
            print(f"    {times} times: {fault}", flush=True)
    if given.out is not None:
        given.out.write_text(json.dumps(counts, indent=1) + "\n")
    wrong = sum(each["faults"] for each in counts.values())
    print(f"{sum(each['trials'] for each in counts.values())} trials, {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
