#!/usr/bin/env bash
# Sets up a virtual environment of its own and runs every check: format, lint, types, import layers, tests.
# With --lowest first: on the lowest version of everything that pyproject.toml allows.
set -euo pipefail
cd "$(dirname "$0")"
environment=.venv-test
extras=dev
if [ "${1:-}" = --lowest ]; then
    shift
    environment=.venv-lowest
    extras=dev,bench
    lowest=$(mktemp)
    trap 'rm -f "$lowest"' EXIT
    grep -oE '"[A-Za-z0-9-]+>=[0-9.]+' pyproject.toml | tr -d '"' | sed 's/>=/==/' >"$lowest"
    export PIP_CONSTRAINT="$lowest" PIP_BUILD_CONSTRAINT="$lowest" PIP_ONLY_BINARY=:all:
fi
environment="${OCBOOST_VENV:-$environment}"
[ -x "$environment/bin/python" ] || "${PYTHON:-python3}" -m venv "$environment"
bin="$PWD/$environment/bin"
case "$environment" in /*) bin="$environment/bin" ;; esac
"$bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"
"$bin/ruff" format --check .
"$bin/ruff" check .
"$bin/mypy"
"$bin/lint-imports"
"$bin/python" -m pytest -q -n auto "$@"
