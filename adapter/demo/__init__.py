"""A simulated GPU fleet whose truth is known at every moment, and what the adapter makes of it."""
