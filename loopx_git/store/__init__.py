"""Git: objects, publishers, the transaction. It never speaks to a person."""
