"""Bytes <-> core: documents, lease records, commit messages, paths. docs/format.md is its contract."""
