"""Our configuration: bytes become frozen groups, or every fault at once. Pure; files are read elsewhere."""

from adapter.settings.budgets import budgets, cache_ttl, page_pace, pages_of, poll_interval, profile_pace
from adapter.settings.read import default_settings, parse

__all__ = [
    "budgets",
    "cache_ttl",
    "default_settings",
    "page_pace",
    "pages_of",
    "parse",
    "poll_interval",
    "profile_pace",
]
