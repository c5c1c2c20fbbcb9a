#!/usr/bin/env bash
# Sets up a virtual environment of its own and runs every check: format, lint, types, import layers, tests.
set -euo pipefail
cd "$(dirname "$0")"
environment="${OCBOOST_VENV:-.venv-test}"
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
bin="$PWD/$environment/bin"
case "$environment" in /*) bin="$environment/bin" ;; esac
"$bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
"$bin/ruff" format --check .
"$bin/ruff" check .
"$bin/mypy"
"$bin/lint-imports"
"$bin/python" -m pytest -q -n auto "$@"
