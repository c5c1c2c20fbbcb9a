"""How long a user waits for a first result: the import, and first calls with compiled code in the cache."""

import statistics
import subprocess
import sys

IMPORT = """
import time
began, cpu = time.perf_counter(), time.process_time()
import ocboost
print(time.perf_counter() - began, time.process_time() - cpu)
"""

FIRST_CALL = """
import time
import numpy as np
import ocboost
margins = np.where(np.random.default_rng(0).random((64, 20)) < 0.6, 1, -1).astype(np.int8)
began, cpu = time.perf_counter(), time.process_time()
{call}
print(time.perf_counter() - began, time.process_time() - cpu)
"""

SKETCH = """
sketch = ocboost.BoostingSketch(20)
sketch.update_many(margins, batch_size=16)
sketch.alpha
"""

CALLS = {
    "import ocboost": IMPORT,
    "first BoostingSketch update_many and alpha": FIRST_CALL.format(call=SKETCH),
    "first adaboost_weights": FIRST_CALL.format(call="ocboost.adaboost_weights(margins)"),
}


def measure(runs: int) -> dict[str, dict[str, object]]:
    """Wall and CPU seconds of each in fresh processes, after one that fills the cache; or the error."""
    results: dict[str, dict[str, object]] = {}
    for name, script in CALLS.items():
        seconds, cpu_seconds = [], []
        for number in range(runs + 1):
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
            if done.returncode:
                results[name] = {"error": done.stderr.strip().splitlines()[-1]}
                break
            if number:
                wall, cpu = map(float, done.stdout.split())
                seconds.append(wall)
                cpu_seconds.append(cpu)
        else:
            results[name] = {
                "seconds": statistics.median(seconds),
                "cpu_seconds": statistics.median(cpu_seconds),
                "rounds": seconds,
            }
    return results
