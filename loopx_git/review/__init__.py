"""Review: what a pull request or a push did and under which claims, for people and for the server's gate."""
