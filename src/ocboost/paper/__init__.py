"""The experiments of the paper, run again with the public API only.

An experiment is a pure function that returns a dataclass (`synthetic`); drawing it (`synthetic_figure`) and
putting it in words and tables (`synthetic_part`) are apart, so that each can be used without the
others. `report` makes one document of the parts, `erratum` shows the listing's sign error at work.
"""
