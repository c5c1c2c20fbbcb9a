"""The Open Inference Protocol, version 2, over HTTP: health, metadata and inference under ``/v2``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import ocboost
from ocboost.errors import InputError
from ocboost.serve.failures import HttpError
from ocboost.serve.tensors import (
    NUMBERS,
    TEXTS,
    InferenceRequest,
    InferenceResponse,
    InputTensor,
    Parameters,
    Values,
    datatype_of,
    decode,
    encode,
    parse_request,
)

if TYPE_CHECKING:
    from ocboost.live import Adapter, Answers
    from ocboost.serve.service import Service

HEADER_LENGTH = "Inference-Header-Content-Length"
FEATURES = "features"  # the name of the one input of a model whose columns have no names


def rows_of(request: InferenceRequest, rest: memoryview, adapter: Adapter) -> Any:
    """The rows to predict: dictionaries by column, or an array of encoded features.

    Raises
    ------
    InputError
        If the inputs are not those of the model.
    """
    inputs = request.inputs
    if not inputs:
        raise InputError("inputs must have one tensor for each column, or one of encoded features; got none.")
    names = [tensor.name for tensor in inputs]
    columns = adapter.columns
    if columns is None or (len(inputs) == 1 and len(inputs[0].shape) == 2 and names[0] not in columns):
        return _features(inputs, rest, adapter)
    given, known = set(names), set(columns)
    missing = [name for name in columns if name not in given]
    unknown = [name for name in names if name not in known]
    if missing or unknown or len(given) != len(names):
        raise InputError(
            f"inputs must be one tensor for each of the {len(columns)} columns of the model; missing: "
            f"{_some(missing)}; unknown: {_some(unknown)}. GET /v2/models/NAME lists them."
        )
    n = inputs[0].shape[:1]
    for tensor in inputs:
        if tensor.shape[:1] != n or tensor.shape[1:] not in ([], [1]):
            raise InputError(
                "every input must have the shape [rows] or [rows, 1], with the same rows; "
                f"{names[0]!r:.80} has {inputs[0].shape!r:.40}, {tensor.name!r:.80} {tensor.shape!r:.40}."
            )
    values = [_listed(found) for found in decode(inputs, rest)]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _features(inputs: Sequence[InputTensor], rest: memoryview, adapter: Adapter) -> Any:
    tensor, F = inputs[0], adapter.n_features
    if len(inputs) != 1 or tensor.datatype not in NUMBERS or tensor.shape[1:] != [F]:
        raise InputError(
            f"encoded features must be one tensor of numbers with the shape [rows, {F}]; got {len(inputs)} "
            f"inputs, the first {tensor.datatype!r:.40} with the shape {tensor.shape!r:.80}."
        )
    (values,) = decode(inputs, rest)
    return np.asarray(values, dtype=np.float64).reshape(-1, F)


def _listed(values: Values) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values


def _some(names: Sequence[str]) -> str:
    return ", ".join(f"{name!r:.80}" for name in names[:5]) + (", …" if len(names) > 5 else "") or "none"


def wanted_outputs(request: InferenceRequest, issue: bool) -> dict[str, bool]:
    """The outputs to give, and whether each is wanted as bytes."""
    everything = ["label", "probabilities", "id"] if issue else ["label", "probabilities"]
    as_bytes = _flag(request.parameters, "binary_data_output", False)
    if request.outputs is None:
        return dict.fromkeys(everything, as_bytes)
    wanted: dict[str, bool] = {}
    for output in request.outputs:
        if output.name not in everything or output.name in wanted:
            why = " (there are no ids with issue: false)" if output.name == "id" and not issue else ""
            raise InputError(
                f"outputs must be some of {', '.join(everything)}, each once; got {output.name!r:.80}{why}."
            )
        for name in ("classification", "shared_memory_region"):
            if name in (output.parameters or {}):
                raise InputError(f"the extension of the parameter {name!r} is not supported: leave it out.")
        wanted[output.name] = _flag(output.parameters, "binary_data", as_bytes)
    return wanted


def _flag(parameters: Parameters | None, name: str, otherwise: bool) -> bool:
    value = (parameters or {}).get(name, otherwise)
    if not isinstance(value, bool):
        raise InputError(f"the parameter {name!r} must be true or false; got {value!r:.40}.")
    return value


def response_of(
    answers: Answers, wanted: dict[str, bool], request_id: str | None, name: str
) -> tuple[bytes, dict[str, str]]:
    """The body of the answer, and its headers."""
    n, classes = len(answers), answers.classes
    have: dict[str, tuple[str, Any, list[int]]] = {
        "label": (datatype_of(classes), answers.labels, [n]),
        "probabilities": ("FP64", answers.probabilities, [n, len(classes)]),
        "id": (TEXTS, answers.ids, [n]),
    }
    encoded = [encode(name, *_in_order(have[name]), binary=binary) for name, binary in wanted.items()]
    response = InferenceResponse(
        name, version_of(answers.answered_by), [tensor for tensor, _ in encoded], request_id
    )
    text = msgspec.json.encode(response)
    if not any(wanted.values()):
        return text, {"content-type": "application/json"}
    body = b"".join([text, *(raw for _, raw in encoded)])
    return body, {"content-type": "application/octet-stream", HEADER_LENGTH: str(len(text))}


def _in_order(what: tuple[str, Any, list[int]]) -> tuple[str, Any, list[int]]:
    datatype, values, shape = what
    return datatype, [str(value) for value in values] if datatype == TEXTS else values, shape


def version_of(answered_by: str) -> str:
    """The version as the protocol names it.

    >>> version_of("version 3"), version_of("adapted")
    ('3', 'adapted')
    """
    return answered_by.removeprefix("version ")


def model_metadata(adapter: Adapter, name: str, version: str) -> dict[str, Any]:
    """What the model takes and gives."""
    classes = adapter.classes
    if adapter.columns is None:
        inputs = [{"name": FEATURES, "datatype": "FP64", "shape": [-1, adapter.n_features]}]
    else:
        numbers = (
            set(adapter.columns)
            if adapter.schema is None
            else {column.name for column in adapter.schema.columns if column.kind == "number"}
        )
        inputs = [
            {"name": column, "datatype": "FP64" if column in numbers else TEXTS, "shape": [-1]}
            for column in adapter.columns
        ]
    outputs = [
        {"name": "label", "datatype": datatype_of(classes), "shape": [-1]},
        {
            "name": "probabilities",
            "datatype": "FP64",
            "shape": [-1, len(classes)],
            "parameters": {"classes": classes},
        },
        {"name": "id", "datatype": TEXTS, "shape": [-1]},
    ]
    return {"name": name, "versions": [version], "platform": "ocboost", "inputs": inputs, "outputs": outputs}


def v2_routes(service: Service) -> list[Route]:
    """The routes of the protocol. Errors are raised; whoever mounts the routes answers them."""
    adapter, name = service.adapter, service.name

    async def server(request: Request) -> Response:
        return _json(
            {"name": "ocboost", "version": ocboost.__version__, "extensions": ["binary_tensor_data"]}
        )

    async def live(request: Request) -> Response:
        return _json({"live": True})

    async def ready(request: Request) -> Response:
        good = _is_ready(service)
        return _json({"ready": good}, 200 if good else 503)

    async def model_ready(request: Request) -> Response:
        await asked_version(request)
        good = _is_ready(service)
        return _json({"name": name, "ready": good}, 200 if good else 503)

    async def model(request: Request) -> Response:
        return _json(model_metadata(adapter, name, await asked_version(request, tell=True)))

    async def infer(request: Request) -> Response:
        await asked_version(request)
        body = await service.body(request.scope, request.receive, None)
        asked, rest = parse_request(body, request.headers.get(HEADER_LENGTH))
        issue = _flag(asked.parameters, "issue", True)
        wanted = wanted_outputs(asked, issue)
        n = max((tensor.shape[0] for tensor in asked.inputs if tensor.shape), default=0)
        if n > service.settings.max_rows:
            raise HttpError(
                413,
                "too_many_rows",
                f"A request must have at most {service.settings.max_rows:,} rows; got {n:,}. Send several.",
            )
        answers = await service.predict(rows_of(asked, rest, adapter), None, issue)
        content, headers = response_of(answers, wanted, asked.id, name)
        return Response(content, headers=headers)

    async def asked_version(request: Request, tell: bool = False) -> str:
        """The version that answers; an error if the path names another model or another version."""
        asked = request.path_params["name"]
        if asked != name:
            raise HttpError(
                404, "unknown_model", f"There is no model {asked!r:.80}; this one is {name!r:.80}."
            )
        version = request.path_params.get("version")
        if version is None and not tell:
            return ""
        facts = await service.in_thread(adapter.facts)
        answering = version_of(str(facts["answering"]))
        if version not in (None, answering):
            raise HttpError(
                404,
                "unknown_version",
                f"Version {version!r:.80} does not answer now; {answering!r} does. Leave the version out, or "
                "choose with POST /rollback which one answers.",
            )
        return answering

    routes = [Route("/v2", server), Route("/v2/health/live", live), Route("/v2/health/ready", ready)]
    for path in ("/v2/models/{name}/versions/{version}", "/v2/models/{name}"):
        routes += [
            Route(path, model),
            Route(path + "/ready", model_ready),
            Route(path + "/infer", infer, methods=["POST"]),
        ]
    return routes


def _is_ready(service: Service) -> bool:
    return not service.stopping and service.adapter.storage != "failed"  # a full disk may be free again


def _json(content: dict[str, Any], status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")
