"""Fitting where the rows lie in several places: pieces of a disk, or the workers of a cluster.

Every shard runs the same code on its own rows. What must be known of all rows is a sum, and a `Collective`
gives it to every shard.
"""
