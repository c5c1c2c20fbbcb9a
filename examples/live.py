"""A model behind HTTP: a stream that changes, labels 500 rows late, killed twice, and nothing is lost.

    python examples/live.py [--data DIR] [--out DIR] [--rows N]

Fits a model, starts `ocboost serve`, and sends a stream row by row in small requests; the label of each row
follows 500 rows later. Twice the service is killed (kill -9) in the middle and started again. In the end: how
often the answers were right, beside the model as it was deployed, and whether every label was learnt once.
One picture goes to examples/pictures. With --data, or the environment variable OCBOOST_DATA, the stream is
INSECTS (streams/insects_gradual_balanced.csv.gz in that folder); without, it is drawn.

It needs: pip install 'ocboost[all]'
"""

# %% Where things are
import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ocboost import AdaptiveClassifier, Model
from ocboost._report.figures import BLUES, GREY, RED, house_style
from ocboost.live import replay

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
parser.add_argument("--out", type=Path, default=Path(__file__).parent / "pictures")
parser.add_argument("--rows", type=int, default=8_000)
given = parser.parse_args()
given.out.mkdir(parents=True, exist_ok=True)
START = 2_000  # rows the model is fitted on
LATE = 500  # rows between a prediction and its label
ROWS_PER_REQUEST = 20


# %% 1. A stream that changes
def drawn(n: int, seed: int = 7) -> tuple[pd.DataFrame, np.ndarray]:
    """Six features; the direction that tells the classes apart turns, with a jump in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).round(4)
    angle = np.linspace(0.0, np.pi / 2, n) + np.where(np.arange(n) > n // 2, np.pi / 3, 0.0)
    side = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] + 0.5 * X[:, 2]
    y = np.where(side + rng.normal(scale=0.5, size=n) > 0, "UP", "DOWN")
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(6)]), y


path = None if given.data is None else Path(given.data) / "streams" / "insects_gradual_balanced.csv.gz"
if path is not None and path.is_file():
    table = pd.read_csv(path, nrows=START + given.rows)
    X, y = table.drop(columns="species"), table["species"].to_numpy()
    about = "INSECTS: which mosquito flew past the sensor"
else:
    X, y = drawn(START + given.rows)
    about = "drawn: no --data was given"
rows, labels = X[START:].to_dict("records"), y[START:].tolist()
print(f"1. A stream of {len(rows):,} rows ({about}); labels come {LATE} rows late.")

# %% 2. The model that is deployed
folder = Path(tempfile.mkdtemp(prefix="ocboost-live-"))
clf = AdaptiveClassifier(random_state=0).fit(X[:START], y[:START])
Model(clf).save(folder / "model.ocb")
deployed = clf.predict(X[START:], issue=False) == y[START:]
print(f"2. A model, fitted on the first {START:,} rows and saved to {folder / 'model.ocb'}.")


# %% 3. The service, and a client
class Service:
    """`ocboost serve` in a process of its own, and one connection to it."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ocboost", "serve", str(folder / "model.ocb"), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "http://127.0.0.1:" in line:
                self.port = int(line.split("http://127.0.0.1:")[1].split()[0].strip("/\"'.,"))
                break
        else:
            raise SystemExit("the service did not start")
        self.seconds_to_start = time.monotonic() - self.started
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)

    def ask(self, method: str, what: str, body: Any = None, *, raw: bool = False) -> Any:
        """Send a request, and return what is answered."""
        headers = {"Content-Type": "application/json"}
        self.connection.request(method, what, None if body is None else json.dumps(body), headers)
        response = self.connection.getresponse()
        data = response.read()
        answer = data if raw else json.loads(data)
        if response.status != 200:
            raise SystemExit(f"{what}: {response.status} {answer}")
        return answer

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


service = Service()
print(f"3. The service runs on port {service.port}, {service.seconds_to_start:.1f} s after it was started.")

# %% 4. The stream, with two accidents
waiting: deque[tuple[str, str]] = deque()  # id and label of what was predicted
right: list[bool] = []
answered_by: list[str] = []
acknowledged = 0
accidents = [len(rows) * 2 // 5, len(rows) * 7 // 10]
for start in range(0, len(rows), ROWS_PER_REQUEST):
    block = rows[start : start + ROWS_PER_REQUEST]
    answer = service.ask("POST", "/predict", {"rows": block})
    for one, label in zip(answer["predictions"], labels[start:], strict=False):
        waiting.append((one["id"], label))
        right.append(one["label"] == label)
    answered_by += [answer["answered_by"]] * len(block)
    due = [waiting.popleft() for _ in range(len(waiting) - LATE)]
    if due:
        body = {"labels": [{"id": id_, "label": label} for id_, label in due]}
        acknowledged += service.ask("POST", "/label", body)["accepted"]
    if accidents and start >= accidents[0]:
        accidents.pop(0)
        service.kill()
        service = Service()
        facts = service.ask("GET", "/model")
        print(
            f"   row {start:,}: kill -9, and started again in {service.seconds_to_start:.1f} s. Acknowledged "
            f"labels {acknowledged:,}, learnt {facts['learnt']:,}; waiting {len(waiting):,}, known to the "
            f"service {facts['pending']:,}."
        )
acknowledged += service.ask(
    "POST", "/label", {"labels": [{"id": id_, "label": label} for id_, label in waiting]}
)["accepted"]
facts = service.ask("GET", "/model")
model_file = service.ask("GET", "/model/file", raw=True)
print(f"   exit status after SIGTERM: {service.stop()}")

# %% 5. The figures
series = np.array(right)
replayed = replay(folder / "model.ocb.state")
rule = "the same model, to the last bit" if replayed.model_bytes() == model_file else "ANOTHER model"
print(f"4. Right: {series.mean():.1%} of the answers, {deployed.mean():.1%} of the deployed model's alone.")
print(f"   Labels acknowledged {acknowledged:,}, learnt {facts['learnt']:,}, waiting {facts['pending']:,}.")
if acknowledged < len(rows):
    print(f"   {len(rows) - acknowledged:,} labels were refused: no such class was there when it was fitted.")
print(f"   The journal replayed from its beginning gives {rule}.")
others = len(series) - answered_by.count("adapted")
print(f"   {others:,} rows were answered by another version than the adapted model.")

with house_style():
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    window = 400
    for values, colour, name in ((deployed, GREY, "as deployed"), (series, BLUES[-1], "in service")):
        kernel = np.convolve(values, np.ones(window) / window, "valid")
        axes.plot(np.arange(len(kernel)) + window, 100 * kernel, color=colour, label=name)
    for i, accident in enumerate((len(rows) * 2 // 5, len(rows) * 7 // 10)):
        axes.axvline(accident, color=RED, linestyle=":", label="kill -9" if i == 0 else None)
    axes.set(xlabel="row of the stream", ylabel=f"right of the last {window} rows, %")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    figure.savefig(given.out / "5-live.png", dpi=110)
print(f"   picture: {given.out / '5-live.png'}")
