"""What feeds the write line: pages and query results are read, dated no later than the truth, and become readings."""
