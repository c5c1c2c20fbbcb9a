#!/usr/bin/env bash
# Sets up a virtual environment of its own and runs every check: format, lint, types, import layers, tests.
# --lowest: on the lowest version of everything that pyproject.toml allows, and without types.
# --coverage: with coverage, which makes it slower, and fails below the floor in pyproject.toml.
# What follows these goes to pytest.
set -euo pipefail
cd "$(dirname "$0")"
versions=test
coverage=()
while [ "${1:-}" = --lowest ] || [ "${1:-}" = --coverage ]; do
    if [ "$1" = --lowest ]; then versions=lowest; else coverage=(--cov --cov-report=term); fi
    shift
done
environment="${OCBOOST_VENV:-.venv-$versions}"
[ -x "$environment/bin/python" ] || "${PYTHON:-python3}" -m venv "$environment"
environment="$(cd "$environment" && pwd)"
bin="$environment/bin"
pip=("$bin/python" -m pip install --disable-pip-version-check --editable)
if [ "$versions" = lowest ]; then
    export PIP_CONSTRAINT="$environment/lowest.txt" PIP_BUILD_CONSTRAINT="$environment/lowest.txt"
    grep -oE '"[A-Za-z0-9-]+>=[0-9.]+' pyproject.toml | tr -d '"' | sed 's/>=/==/' >"$PIP_CONSTRAINT"
    "${pip[@]}" '.[dev,bench]' --only-binary :all: --progress-bar off
else
    "${pip[@]}" '.[dev]' --quiet
    "$bin/mypy"
fi
"$bin/ruff" format --check .
"$bin/ruff" check .
"$bin/lint-imports"
"$bin/python" -m pytest -q -n auto --dist worksteal ${coverage[@]+"${coverage[@]}"} "$@"
