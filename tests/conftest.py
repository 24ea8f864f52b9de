"""What was skipped was not checked: it is said last, and where CI=true it fails the run.

Properties are checked, never timed: a slow machine must not fail one. In CI they repeat (hypothesis' own `ci` profile).
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("untimed", settings.get_profile("ci" if os.environ.get("CI") else "default"), deadline=None)
settings.load_profile("untimed")


def skipped(config: pytest.Config) -> int:
    """How many tests, or files of tests, have been skipped so far; 0 in a process that reports nothing."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return len(reporter.stats.get("skipped", ())) if reporter else 0


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.OK and skipped(session.config) and os.environ.get("CI") == "true":
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if count := skipped(config):
        terminalreporter.write_sep(
            "!", f"{count} SKIPPED: not checked (why: pytest -rs); a failure where CI=true", red=True
        )
