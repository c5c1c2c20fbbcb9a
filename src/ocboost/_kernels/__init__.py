"""The compiled inner loops: numpy and numba only, no validation, no I/O, no random state."""
