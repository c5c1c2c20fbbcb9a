"""The foundations of all other packages: checks of input, files, locks, threads, Ctrl-C, metrics."""
