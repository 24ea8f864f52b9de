"""One event name and its fields a line: logfmt on a terminal, JSON lines for machines.

What is withheld is logged when it changes, not at each request; never a secret.
"""

import json
import logging
import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

from adapter.core.points import ObjectKey, Withheld

Format = Literal["auto", "text", "json"]

_SECRET_NAMES: Final = ("authorization", "cookie", "password", "secret", "token")
_SECRET_TEXT: Final = re.compile(
    r"(?<=://)[^/\s@]*(?=@)|(?<=authorization: )[^\r\n]+|(?<=bearer )\S{16,}", re.IGNORECASE
)
_PLAIN: Final = re.compile(r"[^\s\"=\\]+")
HIDDEN: Final = "[hidden]"


def event(log: logging.Logger, level: int, name: str, /, **fields: object) -> None:
    """One line: what happened, in snake_case, and the facts about it."""
    log.log(level, name, extra={"fields": fields})


def configure(level: str, fmt: Format, stream: TextIO) -> None:
    """Sends all logging to `stream`. fmt "auto": text on a terminal, JSON otherwise. Raises ValueError for a level."""
    text = fmt == "text" or (fmt == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Logfmt() if text else _Json())
    root = logging.getLogger()
    root.setLevel(level.upper())
    root.handlers[:] = [handler]


def _facts(record: logging.LogRecord, formatter: logging.Formatter) -> dict[str, object]:
    """A record as fields, in the order of reading; foreign records are an event each, too."""
    when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    facts: dict[str, object] = {
        "time": when.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "event": _shown("event", record.getMessage()),
    }
    fields = getattr(record, "fields", {})
    facts |= {f"{name}_" if name in facts else name: _shown(name, value) for name, value in fields.items()}
    if record.exc_info:
        facts["traceback"] = _shown("traceback", formatter.formatException(record.exc_info))
    return facts


def _shown(name: str, value: object) -> object:
    if any(word in name.lower() for word in _SECRET_NAMES):
        return HIDDEN
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _SECRET_TEXT.sub(HIDDEN, str(value))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_facts(record, self), ensure_ascii=True, separators=(",", ":"))


class _Logfmt(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = _facts(record, self)
        traceback = facts.pop("traceback", None)
        line = " ".join(f"{name}={_logfmt(value)}" for name, value in facts.items())
        return f"{line}\n{traceback}" if traceback else line


def _logfmt(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.isprintable() else json.dumps(text)


class Changes:
    """Logs what becomes withheld, with which reason, and its recovery: once each, however often it is asked for.

    memory: so many withheld objects are remembered, the longest-unasked forgotten first. per_minute: so many lines;
    what is beyond is counted, and the count logged when the minute is over.
    """

    def __init__(self, log: logging.Logger, *, memory: int = 10_000, per_minute: int = 100) -> None:
        self._log = log
        self._memory = memory
        self._per_minute = per_minute
        self._reasons: OrderedDict[tuple[str, ObjectKey], str] = OrderedDict()
        self._minute = float("-inf")
        self._lines = 0

    def answered(
        self, metric: str, served: Iterable[ObjectKey], withheld: Iterable[tuple[ObjectKey, Withheld]], now: float
    ) -> None:
        """What one answer served and withheld; `now` in seconds, any clock that never steps back."""
        for key, reading in withheld:
            if self._remember((metric, key), reading.reason):
                fields = {"reason": reading.reason, "detail": reading.detail, "source": reading.source}
                self._line(logging.WARNING, "withheld", metric, key, fields, now)
        if self._reasons:
            for key in served:
                if (reason := self._reasons.pop((metric, key), None)) is not None:
                    self._line(logging.INFO, "recovered", metric, key, {"reason": reason}, now)

    def _remember(self, subject: tuple[str, ObjectKey], reason: str) -> bool:
        known = self._reasons.get(subject)
        self._reasons[subject] = reason
        self._reasons.move_to_end(subject)
        if len(self._reasons) > self._memory:
            self._reasons.popitem(last=False)
        return known != reason

    def _line(
        self, level: int, name: str, metric: str, key: ObjectKey, fields: Mapping[str, object], now: float
    ) -> None:
        if now - self._minute >= 60:
            if (suppressed := self._lines - self._per_minute) > 0:
                event(self._log, logging.WARNING, "changes_suppressed", count=suppressed)
            self._minute, self._lines = now, 0
        self._lines += 1
        if self._lines <= self._per_minute:
            place = {"namespace": key.namespace} if key.namespace else {}
            event(self._log, level, name, metric=metric, resource=key.resource, **place, object=key.name, **fields)
        elif self._lines == self._per_minute + 1:
            limit = f"more than {self._per_minute} changes a minute: further ones are counted and not shown"
            event(self._log, logging.WARNING, "changes_suppressing", why=limit)
