"""The demo: a temporary bare remote, eight clones, eight agent processes, and a proof at the end.

`stage` sets it up and ends it, `agent` is what each process runs, `proof` judges the history.
"""
