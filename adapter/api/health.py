"""Whether this process can serve; never whether the data are fresh: a replica taken away serves nobody.

The answers are those of a Kubernetes API server: plain text, one line a check, 500 with the names of what fails.
"""

import logging
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Final, NamedTuple

ENDPOINTS: Final = ("healthz", "livez", "readyz")
_log = logging.getLogger(__name__)


class Check(NamedTuple):
    """probe: quick and without I/O; None when fine, else why not, a clause for people."""

    name: str
    probe: Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Checks:
    """live: restart the process when one fails (`/livez`, `/healthz`); ready: send it no requests (`/readyz`)."""

    live: Sequence[Check] = ()
    ready: Sequence[Check] = ()

    def of(self, endpoint: str) -> tuple[Check, ...]:
        """The checks of "livez", "healthz" or "readyz", with the one that an answer passes by itself."""
        return (Check("ping", lambda: None), *(self.ready if endpoint == "readyz" else self.live))


class Report(NamedTuple):
    """The text to answer with, and the names of the checks that fail."""

    text: str
    failing: tuple[str, ...] = ()


def report(
    endpoint: str, checks: Sequence[Check], excluded: Set[str] = frozenset(), *, verbose: bool = False
) -> Report:
    """The answer of `/{endpoint}`; every check is listed when asked for, or when one fails."""
    lines, failing = [], []
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok")
        elif (why := _probe(check)) is None:
            lines.append(f"[+]{check.name} ok")
        else:
            failing.append(check.name)
            lines.append(f"[-]{check.name} failed: {why}")
    if unknown := sorted(excluded - {check.name for check in checks}):
        lines.append(f"warn: some health checks cannot be excluded: no matches for {', '.join(unknown)}")
    if failing:
        return Report("\n".join([*lines, f"{endpoint} check failed: {', '.join(failing)}", ""]), tuple(failing))
    return Report("\n".join([*lines, f"{endpoint} check passed", ""]) if verbose else "ok")


def single(check: Check) -> Report:
    """The answer of `/{endpoint}/{check}`."""
    why = _probe(check)
    if why is None:
        return Report("ok")
    return Report(f"internal server error: {check.name} failed: {why}\n", (check.name,))


def _probe(check: Check) -> str | None:
    try:
        why = check.probe()
    except Exception:  # noqa: BLE001 - a broken probe is a failing check, not a failing server
        _log.exception("health_probe_broken", extra={"fields": {"check": check.name}})
        return "its probe is broken, see the adapter's log"
    return None if why is None else " ".join(why.split())
