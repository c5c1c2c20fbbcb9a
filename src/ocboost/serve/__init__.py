"""The HTTP service: a model behind `ocboost.live.Adapter`."""
