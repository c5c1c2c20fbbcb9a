"""``ocboost serve``: a model behind HTTP, which learns from labels and loses nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from ocboost.cli.files import require_files
from ocboost.cli.options import Count, Flag, byte_count
from ocboost.cli.terminal import say
from ocboost.errors import InputError, MissingExtraError

STATE_SUFFIX = ".state"
PACKAGES = ("starlette", "uvicorn", "httptools", "prometheus_client", "msgspec")
Port = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=65535))]
PerSecond = Annotated[float | None, Parameter(validator=validators.Number(gt=0))]
Seconds = Annotated[float | None, Parameter(validator=validators.Number(gt=0, lte=1e9))]
Days = Annotated[float, Parameter(validator=validators.Number(gt=0))]


def serve(
    model: Path,
    /,
    *,
    state: Path | None = None,
    host: str = "127.0.0.1",
    port: Port = 8080,
    name: str | None = None,
    token_file: Path | None = None,
    allow_host: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    trusted_proxy: str | None = None,
    held_out: Path | None = None,
    no_guard: Flag = False,
    max_rows: Count = 10_000,
    max_body: str = "16MiB",
    max_waiting: Count = 500,
    max_pending: Count = 1_000_000,
    max_days: Days = 30.0,
    rate: PerSecond = None,
    webhook: Annotated[list[str] | None, Parameter(negative="")] = None,
    webhook_secret_file: Path | None = None,
    labels_within: Seconds = None,
    log_requests: Flag = False,
) -> int:
    """Answer predictions over HTTP, and learn from labels however late they come.

    For example:
        ocboost serve model.ocb --port 8080

        curl localhost:8080/predict -H 'Content-Type: application/json'
            -d '{"rows": [{"age": 41, "plan": "basic"}]}'

        curl localhost:8080/label -H 'Content-Type: application/json'
            -d '{"labels": [{"id": "…", "label": "stays"}]}'

    For other machines, with a token that clients send as Authorization: Bearer:
        ocboost serve model.ocb --host 0.0.0.0 --token-file token.txt

    Tell somebody when the model gets worse, when the guard lets another one
    answer, and when labels stop coming; the messages are signed:
        ocboost serve model.ocb --webhook https://alarms.example/in
            --webhook-secret-file secret.txt

    Everything that was acknowledged is in the state folder, also after a power
    failure: the same command continues there. MODEL itself is never changed;
    GET /model/file gives the adapted one. GET /openapi.json lists what there is.
    SIGTERM or Ctrl-C finishes requests that are under way; exit status 0 then.

    Parameters
    ----------
    model
        A model made by `ocboost fit` or `ocboost adapt`, or a classifier saved in Python.
    state
        The folder for predictions that wait for labels, the journal, the checkpoint and versions; MODEL.state
        by default. One service at a time uses it.
    host
        The address to listen at. Any but this machine's own (127.0.0.1, ::1) needs a token.
    port
        The port; 0 takes one that is free.
    name
        The model's name under /v2, the Open Inference Protocol; by default that of the file.
    token_file
        A file with the token that clients must send; or in the environment as OCBOOST_TOKEN.
    allow_host
        More names that the Host header may have; without a token only localhost, 127.0.0.1 and [::1] may ask.
    trusted_proxy
        The address of a reverse proxy whose X-Forwarded-For says who the client is.
    held_out
        Trusted rows with labels, by which models are judged instead of by the labels that come.
    no_guard
        The adapted model always answers, however it does.
    max_rows
        Rows or labels in a request,
    max_body
        its bytes, such as 500kB or 16MiB,
    max_waiting
        and how many requests may be under way at a time.
    max_pending
        Predictions that wait for their labels; the oldest are dropped when there are more,
    max_days
        or when they have waited longer.
    rate
        Requests a second from one address, after a burst of twice as many; no limit by default.
    webhook
        A URL that gets a POST when the models' errors change (drift), the guard decides who answers, labels
        stop coming or come again, and on promote, rollback and freeze. May be given several times.
    webhook_secret_file
        A file with the secret that signs these messages; or in the environment as OCBOOST_WEBHOOK_SECRET.
    labels_within
        Labels have stopped coming if none came in so many seconds while predictions were made. By default,
        once labels have come for a day: twice the longest usual gap, and at least 10 minutes.
    log_requests
        Log each request, not only those that failed.
    """
    require_files(model)
    try:
        from ocboost.serve.run import bind, run_service, url_of
        from ocboost.serve.security import (
            LOOPBACK_NAMES,
            TOKEN_VARIABLE,
            host_name,
            is_loopback,
            read_token,
            read_webhook_secret,
        )
        from ocboost.serve.service import ServeSettings
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        raise MissingExtraError(package, "serve", "ocboost serve") from error
    from ocboost.live import Adapter
    from ocboost.live.alarms import Alarms, webhook_urls

    body_bytes = byte_count(max_body, "--max-body")
    token, notes = read_token(token_file, os.environ)
    urls = webhook_urls(webhook or ())
    secret, more = read_webhook_secret(webhook_secret_file, os.environ if urls else {})
    if webhook_secret_file is not None and not urls:
        raise InputError(
            "--webhook-secret-file signs what is sent to --webhook, which is missing. Give a URL."
        )
    notes += more
    for url in urls:
        if url.is_exposed:
            notes.append(f"{url.shown} is sent messages without encryption. Use https:// if it can.")
    local = is_loopback(host)
    if token is None and not local:
        raise InputError(
            f"--host {host!r:.100} can be reached from other machines, so a token is needed. Give it in "
            f"--token-file or {TOKEN_VARIABLE}; make one with: openssl rand -hex 32"
        )
    for note in notes:
        say(note)
    names = frozenset(host_name(each.encode(errors="replace")) for each in allow_host or ())
    own = host_name((f"[{host}]" if ":" in host else host).encode(errors="replace"))
    settings = ServeSettings(
        name=model.stem if name is None else name,
        token=token,
        hosts=LOOPBACK_NAMES | names | {own} if token is None else names or None,
        max_rows=max_rows,
        max_body=body_bytes,
        max_waiting=max_waiting,
        rate=rate,
        log_requests=log_requests,
    )
    folder = model.with_name(model.name + STATE_SUFFIX) if state is None else state
    with bind(host, port) as bound:
        adapter = Adapter(
            model,
            folder,
            guard=not no_guard,
            held_out=held_out,
            max_pending=max_pending,
            max_days=max_days,
        )
        with adapter:
            run_service(
                adapter,
                settings,
                bound,
                lambda: say(f"serving on {url_of(bound)}"),
                trusted_proxy=trusted_proxy,
                alarms=Alarms(adapter, folder, settings.name, urls, secret, labels_within),
            )
    return 0
