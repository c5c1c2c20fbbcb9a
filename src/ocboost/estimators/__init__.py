"""Estimators: where hypotheses, boosters and streams meet."""
