"""``ocboost adapt`` with a log in a broker: requests are answered, labels learnt, nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token, validators

from ocboost._core.escaping import shown
from ocboost._core.interrupts import Signals
from ocboost._core.log_address import LogAddress, is_log_address
from ocboost.cli.adapt_page import PageErrors
from ocboost.cli.decisions import DecisionOptions
from ocboost.cli.files import check_apart, check_out, check_page, check_side_files
from ocboost.cli.options import Flag, MethodOptions, UsageError
from ocboost.cli.resume import remove_temporary_files
from ocboost.cli.terminal import after_writing, results, say, stream_progress

if TYPE_CHECKING:
    from ocboost.deployment.model import Model
    from ocboost.live.brokers.log_state import LogState

MAX_PENDING = 100_000


def file_or_log(type_: Any, tokens: Sequence[Token]) -> Path | LogAddress:
    """A file, or the address of a log, which is no path: a path would lose one of its slashes."""
    text = tokens[0].value
    return LogAddress(text) if is_log_address(text) else Path(text)


def no_option_or_log(type_: Any, value: Path | LogAddress) -> None:
    """Refuse a word that looks like an option."""
    if str(value).startswith("-") and str(value) != "-":
        raise ValueError(f"There is no option {value}; a file of that name is ./{value}.")


DataOrLog = Annotated[
    Path,  # or a LogAddress: cyclopts would want to know how many words that takes
    Parameter(
        allow_leading_hyphen=True,
        converter=file_or_log,
        validator=no_option_or_log,
        help=(
            "CSV, JSON lines or Parquet, gzipped or not; - is standard input. Or a log in a broker: "
            "redis://host:6379/0?stream=NAME, rediss://… with TLS, kafka://host:9092/TOPIC."
        ),
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class BrokerOptions:
    """Options for a log in a broker.

    Parameters
    ----------
    idle
        With a log in a broker: end when nothing has come for so many seconds.
    guard
        With a log in a broker: the guard decides whether the adapted or the deployed model answers. Without
        it the adapted model does.
    max_pending
        With a log in a broker: so many predictions may wait for their labels (100000); when there are more
        the oldest are dropped.
    """

    idle: Annotated[float | None, Parameter(validator=validators.Number(gt=0))] = None
    guard: Flag = False
    max_pending: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None

    def require_none(self) -> None:
        """Refuse them where the stream is a file."""
        given = {"--idle": self.idle, "--guard": self.guard or None, "--max-pending": self.max_pending}
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} is for logs in a broker (redis://…, kafka://…). Leave it out.")


_REASONS = {
    "--resume": "a log in a broker always continues where it was",
    "--follow": "a log in a broker is always followed",
    "--predictions": "predictions go to the broker; predictions=NAME in the address says where",
    "--bad-rows": "messages that cannot be used are answered in the broker",
    "--batch": "each message is answered and learnt by itself",
    "--label": "messages have their label under 'label'",
    "--format": "messages are JSON",
    "--skip": "every message is answered",
    "--again": "a log is learnt once; --restart learns it anew",
    "--new": "a log is learnt once; --restart learns it anew",
    "--drop": "rows have the columns of the model",
    "--leave-unseen": "labels that the model does not know are answered by an error, and the log goes on",
}


def refuse_options(**given: object) -> None:
    """Refuse options that make no sense with a log; those that were not given are false."""
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value:
            raise UsageError(
                f"{option} does not go with a log in a broker: {_REASONS[option]}. Leave it out."
            )


def adapt_from_log(
    model: Path,
    address: LogAddress,
    *,
    out: Path,
    restart: bool,
    options: MethodOptions,
    decisions: DecisionOptions,
    broker: BrokerOptions,
    checkpoint_rows: int,
    checkpoint_seconds: float,
    strict: bool,
    report: Path | None,
) -> int:
    """Follow a log until Ctrl-C, SIGTERM or --idle ends it in order; return the exit code."""
    from ocboost._core.file_format import write_atomically
    from ocboost._core.file_lock import locked
    from ocboost.live.brokers.consumer import Consumer, EndedEarlyError, FollowSettings, Hooks
    from ocboost.live.brokers.log_state import LogSettings
    from ocboost.live.brokers.url import open_log

    check_out(out)
    check_apart(out, model=model)
    check_side_files(out, {"--report": report}, model=model)
    check_page(report, None, model)
    log = open_log(address)
    with after_writing("the model", out) as written, Signals(in_order=True) as signals, locked(out):
        remove_temporary_files(out, *([] if report is None else [report]))
        deployed = _configured(model, options, decisions)

        page_errors = PageErrors()

        def save(data: bytes) -> None:
            write_atomically(out, data)
            if report is not None and consumer.state is not None:
                with page_errors.passed_over(report):
                    _write_page(report, consumer.state, out.name, log.name)

        with stream_progress("adapting") as show:
            consumer = Consumer(
                log,
                deployed,
                LogSettings(broker.guard, broker.max_pending or MAX_PENDING),
                FollowSettings(checkpoint_rows, checkpoint_seconds, broker.idle, strict),
                Hooks(
                    asked=lambda: signals.asked,
                    say=say,
                    saved=save,
                    progress=lambda state: show(None, state.messages, _progress_of(state)),
                ),
            )
            try:
                consumer.begin(afresh=restart)
                if consumer.state is None and not restart:
                    _require_nothing_learnt(out, model, deployed)
                say(f"following {log.name}; predictions go to {log.predictions}.")
                consumer.follow()
                ended_early = False
            except EndedEarlyError:
                ended_early = True
            finally:
                _close(log)
        state = consumer.state
        if ended_early or state is None:
            if not out.exists():
                deployed.save(out)
            written()
            say(
                "ended while the broker could not be reached or before all was read again. Nothing is lost: "
                f"the same command continues there. '{out}' is as it was saved last."
                if ended_early
                else "ended before the first message came; nothing was learnt."
            )
            return 0
        save(state.model_file())
        written()
        _report(state, out)
    return 0


def _require_nothing_learnt(out: Path, model: Path, deployed: Model) -> None:
    """Refuse to begin anew where OUT holds what this model has learnt from a log that is gone."""
    from ocboost.deployment.model import Model
    from ocboost.errors import InputError, OcboostError
    from ocboost.live.brokers.log_state import digest_of, origin_of

    try:
        learnt = not out.samefile(model) and origin_of(Model.load(out)) == digest_of(deployed)
    except (OcboostError, OSError):  # nothing is there, or something else, which is replaced
        learnt = False
    if learnt:
        raise InputError(
            f"'{out}' holds what MODEL has learnt from a log, and the broker has no state of this one: it "
            "has lost it, or this is another log. To go on with what was learnt, give that file as MODEL "
            "too; to begin anew, --restart or another --out."
        )


def _write_page(path: Path, state: LogState, title: str, log: str) -> None:
    """Write the page of a log that is followed, beside and renamed."""
    from ocboost._core.file_format import write_atomically
    from ocboost._watch.document import run_document
    from ocboost._watch.page import one_file

    live, facts = state.live, state.facts()
    found = run_document(
        live.watch,
        live.adapted.classifier,
        live.versions.model(live.deployed).classifier,
        live.adapted.schema,
        shown(title),
        [f"Follows {log}: {facts['messages']:,} messages, {facts['learnt']:,} labels learnt."],
        {key: facts[key] for key in ("answering", "guard", "pending", "learnt", "last_label")},
    )
    write_atomically(path, one_file(found).encode(errors="backslashreplace"))


def _close(log: Any) -> None:
    from contextlib import suppress

    from ocboost.live.brokers.base import BrokerError

    with suppress(BrokerError):
        log.close()


def _configured(path: Path, options: MethodOptions, decisions: DecisionOptions) -> Model:
    """The model as it is to learn: with the settings that were given."""
    from ocboost.cli.decisions import decision_parameters
    from ocboost.cli.method import booster_of, makes_adaptive, parameters_to_adapt
    from ocboost.cli.next_lines import require_no_settings
    from ocboost.deployment.model import Model
    from ocboost.estimators.classifier import OCBClassifier
    from ocboost.live.adapter import as_model
    from ocboost.live.brokers.log_state import digest_of, origin_of

    settings = options.settings()
    if options.method is not None and not makes_adaptive(options):
        booster_of(options.method)
    model = Model.load(path)
    require_no_settings(model, options, path)
    clf, before = model.classifier, digest_of(model)
    clf.set_params(**decision_parameters(decisions.given(), clf.classes_.tolist()))
    if isinstance(clf, OCBClassifier):
        clf.set_params(**parameters_to_adapt(options.method, settings, clf))
        clf.follow_settings()
    if origin_of(model) is not None and digest_of(model) != before:
        model.history.append({"event": "settings"})  # no longer what a consumer has written
    return as_model(model)


def _progress_of(state: LogState) -> str:
    facts = state.live.facts()
    if facts["accuracy"] is None:
        return ""
    return f"right: {facts['accuracy']:.1%}, lately {facts['recent_accuracy']:.1%}"


def _report(state: LogState, out: Path) -> None:
    """Print what came, and how often it was right."""
    facts = state.facts()
    console = results()
    console.print(
        f"{facts['messages']:,} messages: {facts['answers']:,} answered, {facts['learnt']:,} labels learnt"
        + (f", {facts['repeated']:,} came again" if facts["repeated"] else "")
        + (f", {facts['refused']:,} messages could not be used" if facts["refused"] else "")
        + f"; {facts['pending']:,} predictions wait for their labels.",
        soft_wrap=True,
    )
    if facts["accuracy"] is not None:
        console.print(f"Right: {_progress_of(state).removeprefix('right: ')}.", soft_wrap=True)
    console.print(f"Wrote {out}", soft_wrap=True)
