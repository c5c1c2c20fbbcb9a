"""Logs of requests and labels in a broker, which a model follows."""
