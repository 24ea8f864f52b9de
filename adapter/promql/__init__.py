"""PromQL as text and as a tree: what a query reads, and how old its inputs can be. Pure."""
