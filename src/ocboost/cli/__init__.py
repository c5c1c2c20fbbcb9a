"""The command line: a thin layer over the library.

`app` runs a command line; each command has a file of its own. The package needs the extra ``cli`` and is
imported by ``ocboost.__main__`` only.
"""
