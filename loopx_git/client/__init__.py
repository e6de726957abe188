"""The client: what every face calls. It resolves where coordination lives, submits jobs, and reads state.

It never reads the environment, prints or exits: the environment is an argument.
"""
