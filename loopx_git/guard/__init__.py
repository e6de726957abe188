"""The guard: an edit of a guarded path needs a live claim that covers it. A face: it holds the rules of edits, and
none of claims. Modules that an agent's hook needs at every edit import the standard library alone."""
