"""One file a command; `registry` names them without importing any."""
