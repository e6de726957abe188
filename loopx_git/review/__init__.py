"""Review: what a pull request or a push did, under which claims, for people and for the wall."""
