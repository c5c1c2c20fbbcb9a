"""Boosters: what turns the margins of weak hypotheses into their weights. `registry` lists them by name."""
