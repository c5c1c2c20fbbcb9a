"""The experiments of the paper, run again with the public API only.

An experiment is a pure function that returns a dataclass (`synthetic`); drawing it
(`synthetic_figure`), putting it in words (`synthetic_table`) and writing it
(`output`) are apart, so that each can be used without the others.
"""
