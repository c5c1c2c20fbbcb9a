"""Fitting on one machine from more rows than its memory holds: a folder of files.

>>> from ocboost.out_of_core import fit_folder
"""

from __future__ import annotations

from ocboost.out_of_core.fit import FolderFit, fit_folder

__all__ = ["FolderFit", "fit_folder"]
