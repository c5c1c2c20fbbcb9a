"""Fitted models of other libraries in ocboost's own form: read, evaluated, saved without pickle."""
