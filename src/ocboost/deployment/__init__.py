"""A deployed model: its classifier and columns, a stream to adapt it to, and where to resume."""
