"""One classifier without settings: a bank of members over a growing pool of hypotheses, mixed online."""
