"""The experiments of the paper, run again with the public API only.

Each experiment has a module that runs it (`synthetic`, `mnist`, `faces`: settings, result, run) and one that
shows it (`synthetic_section` and so on: tables, findings, figure). What they share is in `experiment`, `run`
and `section`. `report` makes one document of the sections, `erratum` shows the sign error of the listing at
work, and `cache` stores the results of long steps.
"""
