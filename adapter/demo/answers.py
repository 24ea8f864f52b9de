"""What the adapter said over its API, read as any client would read it: values, or a Status that names a reason."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from adapter.core.quantity import read

UTILIZATION = "nvidia_gpu_utilization"
MEMORY = "nvidia_gpu_memory_used_bytes"

_REASON = re.compile(r"; \d+ ([a-z_]+);")  # explain.py: "1 frozen", once the pod was asked for by name


class Reply(NamedTuple):
    """asked: when the request was sent, seconds on our clock; code: HTTP, 0 where there was no answer; body: JSON."""

    asked: float
    code: int
    body: Mapping[str, Any]


class Value(NamedTuple):
    """number: percent or bytes; stamp: the timestamp given with it, seconds of Unix time; asked: as in Reply."""

    number: float
    stamp: float
    asked: float


class Refused(NamedTuple):
    """reason: "" where the message names none; detail: the clause on this pod, or all that was said."""

    reason: str
    detail: str
    asked: float


Word = Value | Refused


@dataclass(frozen=True, slots=True)
class Observation:
    """One round of questions, between `began` and `ended` (seconds, our clock).

    lists: a workload's utilization by its labelSelector, as an HPA asks for it. named: those pods by name that the
    lists left out. memory: of all pods. epoch: Unix time of our clock's 0, by the wall clock as it was then.
    """

    began: float
    ended: float
    epoch: float
    lists: Mapping[str, Reply]
    named: Mapping[str, Reply]
    memory: Reply

    @property
    def words(self) -> Mapping[str, Word]:
        """What was said of each pod that was asked for."""
        said: dict[str, Word] = {pod: value for reply in self.lists.values() for pod, value in values(reply).items()}
        for pod, reply in self.named.items():
            said[pod] = values(reply).get(pod) or refused(reply, pod)
        return said


def values(reply: Reply) -> Mapping[str, Value]:
    """A MetricValueList (v1beta2) by pod; nothing where the answer is none."""
    return {
        item["describedObject"]["name"]: Value(
            float(read(item["value"])), datetime.fromisoformat(item["timestamp"]).timestamp(), reply.asked
        )
        for item in reply.body.get("items", ())
    }


def refused(reply: Reply, pod: str) -> Refused:
    """A Status of which `pod` was the only subject."""
    message = str(reply.body.get("message", f"HTTP {reply.code} without a message"))
    reason = _REASON.search(message)
    clause = re.search(rf"; {re.escape(pod)}: ([^;]+)", message)
    return Refused(reason[1] if reason else "", clause[1] if clause else message, reply.asked)
