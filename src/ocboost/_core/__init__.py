"""What every other package stands on: checks of input, files, locks, threads, Ctrl-C."""
