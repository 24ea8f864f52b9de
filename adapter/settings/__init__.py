"""Our configuration."""

from adapter.settings.budgets import budgets, cache_ttl, pages_of, poll_interval

__all__ = ["budgets", "cache_ttl", "pages_of", "poll_interval"]
