"""Fleets: one adapting model for every camera, customer or device (extra ``fleet``)."""

from __future__ import annotations

from ocboost.errors import FleetStoreError
from ocboost.fleet.facts import FleetInfo, KeyFacts
from ocboost.fleet.fleet import Fleet
from ocboost.fleet.partitioned import KeyLearner, KeyUpdate, snapshot

__all__ = ["Fleet", "FleetInfo", "FleetStoreError", "KeyFacts", "KeyLearner", "KeyUpdate", "snapshot"]
