"""The parts of `core_figures.py`, one a file; each has a `run(options)` that returns `Figures`."""
