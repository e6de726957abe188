"""The version of the program, in a module of its own: what needs only this imports nothing else."""

__version__ = "0.1.0"
