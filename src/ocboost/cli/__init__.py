"""The command line: a thin layer over the library.

`app` turns words into a call and an error into an exit code; each command has a file of its own.
The package needs the extra ``cli`` and is imported by ``ocboost.__main__`` only.
"""
