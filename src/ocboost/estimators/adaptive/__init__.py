"""The parts of a classifier without knobs: members of many kinds, mixed online."""
