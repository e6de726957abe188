"""The one verdict on whether claims cover an edit: for the commit hook, the push hook, the pull request and the gate.

What an agent's hook needs of it at every edit (`verdict`, `rules`, `policy`, `patterns`) is of the standard library
alone, and cheap to import.
"""
