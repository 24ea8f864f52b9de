"""Properties are checked, never timed: a slow machine must not fail one."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
