"""Everything that decides, as functions over frozen values: no I/O, no clock, no asyncio, no logging in here."""
