"""Bytes <-> core: documents, lease records, commit messages, the tree. docs/format.md is its contract.

No I/O: a tree is read through the small Protocol in `tree`.
"""
