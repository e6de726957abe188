"""What the terminal shows: one module for each kind of thing."""
