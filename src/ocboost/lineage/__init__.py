"""The methods that Online Coordinate Boosting descends from or is compared with, with the same verbs."""
