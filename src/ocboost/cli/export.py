"""``ocboost export``: a model in the format of other runtimes."""

from __future__ import annotations

from pathlib import Path

from ocboost.cli.files import is_same, require_files
from ocboost.cli.options import Flag
from ocboost.cli.terminal import after_writing, results
from ocboost.errors import InputError

ONNX_SUFFIX = ".onnx"


def export(model: Path, out: Path, /, *, raw: Flag = False) -> int:
    """Write a model as ONNX, for runtimes without Python; it answers as the model does now.

    For example:
        ocboost export model.ocb model.onnx

    With the columns of the data as inputs, texts too:
        ocboost export model.ocb model.onnx --raw

    The inputs are numbers in double precision, the outputs label, probabilities
    and scores. Only an OCBClassifier can be exported: ocboost fit … --method ocb.

    Parameters
    ----------
    model
        A model made by `ocboost fit` or `ocboost adapt`, or a classifier saved in Python. It stays as it is.
    out
        The file to write; its name ends in .onnx. An old one is replaced when the new one is complete.
    raw
        An input for each column, instead of one for all features.
    """
    require_files(model)

    from ocboost.deployment.model import Model
    from ocboost.estimators.onnx.export import export_onnx

    if out.suffix.lower() != ONNX_SUFFIX:
        raise InputError(
            f"the file to write must end in {ONNX_SUFFIX}, the only format there is; got '{out.name}'. "
            f"Write to '{out.with_suffix(ONNX_SUFFIX) if out.name else 'model.onnx'}'."
        )
    if is_same(model, out):
        raise InputError(f"the file to write must not be the model; got '{out}' for both. Give another name.")
    deployed = Model.load(model)
    with after_writing("the ONNX model", out) as written:
        made = export_onnx(deployed.classifier, out, raw=raw, schema=deployed.schema)
        written()
        inputs = ", ".join(each.name for each in made.graph.input)
        outputs = ", ".join(each.name for each in made.graph.output)
        console = results()
        console.print(f"Wrote {out}: {deployed!r:.300}", soft_wrap=True)
        console.print(f"inputs   {inputs:.1000}", soft_wrap=True)
        console.print(f"outputs  {outputs}", soft_wrap=True)
    return 0
