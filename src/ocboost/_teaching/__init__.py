"""Teaching a detector by clicking: what is seen, what the clicks say, what is learnt, and the page."""
