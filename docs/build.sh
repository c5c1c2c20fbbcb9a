#!/usr/bin/env bash
# Builds the site into docs/_build/html, in an environment of its own, and checks its links. Warnings are errors:
# a name or a link that leads nowhere, a docstring that lacks a section. Arguments go to sphinx-build; -E reads all anew.
set -euo pipefail
cd "$(dirname "$0")/.."
environment="${OCBOOST_VENV:-.venv-docs}"
if [ ! -x "$environment/bin/sphinx-build" ]; then
    [ -x "$environment/bin/python" ] || "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
fi
"$environment/bin/python" -m sphinx -b html -W --keep-going -q "$@" docs docs/_build/html
"$environment/bin/python" docs/check_links.py docs/_build/html
echo "The site is in docs/_build/html: open docs/_build/html/index.html"
