"""What every member of an axis must do: boosters, hypotheses, learners, offsets, streams.

The registered ones are found by themselves, so a new member is in here with its registration. Where a member
needs something of its own to be made, a test fails until it has that.
"""
