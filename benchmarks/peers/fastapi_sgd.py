"""What one would write in an afternoon: scikit-learn's SGDClassifier behind FastAPI, learning from labels.

For `benchmarks/serve.py`. Predictions wait for their labels in a dictionary. Nothing is written anywhere: a
restart loses the model, the predictions and the labels. There are no limits, tokens, versions or metrics.

    python benchmarks/peers/fastapi_sgd.py FEATURES PORT
"""

import sys
import uuid
from typing import Any

import numpy as np
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from sklearn.linear_model import SGDClassifier


class Rows(BaseModel):
    """Rows to predict."""

    rows: list[dict[str, float]]


class Label(BaseModel):
    """The label of a prediction."""

    id: str
    label: int


class Labels(BaseModel):
    """Labels to learn."""

    labels: list[Label]


def app_of(features: int) -> FastAPI:
    """The service."""
    app = FastAPI()
    names = [f"x{i}" for i in range(features)]
    model = SGDClassifier(loss="log_loss", random_state=0)
    rng = np.random.default_rng(0)
    start = rng.normal(size=(1000, features))
    model.partial_fit(start, (start[:, 0] > 0).astype(int), classes=[0, 1])
    waiting: dict[str, list[float]] = {}

    @app.post("/predict")
    async def predict(asked: Rows) -> dict[str, Any]:
        rows = [[row[name] for name in names] for row in asked.rows]
        shares = model.predict_proba(np.array(rows)).tolist()
        predictions = []
        for row, share in zip(rows, shares, strict=True):
            id_ = uuid.uuid4().hex
            waiting[id_] = row
            probabilities = {"0": share[0], "1": share[1]}
            predictions.append({"id": id_, "label": int(share[1] > 0.5), "probabilities": probabilities})
        return {"predictions": predictions}

    @app.post("/label")
    async def label(given: Labels) -> dict[str, int]:
        rows, labels = [], []
        for each in given.labels:
            row = waiting.pop(each.id, None)
            if row is None:
                raise HTTPException(404, "unknown id")
            rows.append(row)
            labels.append(each.label)
        model.partial_fit(np.array(rows), labels)
        return {"accepted": len(labels)}

    return app


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app_of(int(sys.argv[1])), host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
