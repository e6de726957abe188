"""The client, which every face calls.

It finds where coordination is stored, submits jobs, and reads state. It never reads the environment, prints or exits:
the environment is an argument.
"""
