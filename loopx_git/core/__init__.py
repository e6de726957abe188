"""The rules: (snapshot, command, actor, moment) -> change set, or a typed refusal.

Pure: standard library and pathspec only. Time, randomness and ids are arguments; nothing here reads a clock,
a file or the environment.
"""
