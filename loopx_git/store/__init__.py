"""Git: objects, publishers, the transaction. Below it only format and core; it never speaks to a person."""
