"""What can be configured, as frozen groups. Durations are seconds, sizes bytes; None stands for `auto`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from adapter.core import timing
from adapter.core.attribution import Combine

Heartbeat = Literal["auto", "none"]
PagesSetting = Literal["auto", "live", "ticker"]
Dialect = Literal["auto", "prometheus", "victoriametrics", "thanos", "mimir"]


@dataclass(frozen=True, slots=True)
class Connection:
    """How a server is spoken to. Everything that names a file is read again when the file changes.

    headers: sent as they are; header_files: name → file that holds the value.
    """

    bearer_token_file: str | None = None
    username: str | None = None
    password_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    server_name: str | None = None
    insecure_skip_verify: bool = False
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    header_files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class StaticTarget:
    """An exporter by URL; a field that is None takes what sources.dcgm says."""

    url: str
    heartbeat: Heartbeat | None = None
    pages: PagesSetting | None = None
    collect_interval: float | None = None


@dataclass(frozen=True, slots=True)
class Dcgm:
    """DCGM exporters, whether we read their pages or Prometheus does.

    static: the exporters that we read ourselves.
    """

    collect_interval: float = timing.DCGM_COLLECT_INTERVAL
    poll: float | None = None
    pages: PagesSetting = "auto"
    heartbeat: Heartbeat = "auto"
    read_time: float = timing.READ_TIME
    deadline: float = 5.0
    max_page_bytes: int = 8 << 20
    static: tuple[StaticTarget, ...] = ()
    connection: Connection = field(default_factory=Connection)


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A Prometheus or a server that speaks its API. `name` is what `metrics[].from` says."""

    name: str
    url: str
    read_time: float = timing.READ_TIME
    deadline: float = 5.0
    max_answer_bytes: int = 64 << 20
    dialect: Dialect = "auto"
    connection: Connection = field(default_factory=Connection)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of our own: a GPU profile (`series`) or a PromQL `query`.

    sources: names from `from`: "dcgm" or a Prometheus' name. labels: resource → label of the query's result, as in
    {"namespace": "ns", "pod": "pod"}. raw: the query's names with a colon are no recording rules. source_age: seconds
    that recorded series may hide. exporter_refresh: seconds that the exporter behind a query may lag.
    where: path and line in the file, for messages.
    """

    name: str
    sources: tuple[str, ...]
    series: str | None = None
    query: str | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    devices: Combine = "mean"
    max_age: float | None = None
    min_coverage: float = 0.5
    raw: bool = False
    source_age: float | None = None
    exporter_refresh: float = 0.0
    where: tuple[str, int] = ("", 0)


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole file. `metrics` names what is served, and nothing else is.

    max_age, min_coverage: for metrics that are built without a file; `parse` gives each metric its own, since one may
    say `auto` under an explicit limit for all.
    """

    sync_period: float = timing.HPA_SYNC_PERIOD
    cache_ttl: float | None = None
    max_age: float | None = None
    min_coverage: float = 0.5
    dcgm: Dcgm | None = None
    prometheus: tuple[Prometheus, ...] = ()
    metrics: tuple[Metric, ...] = ()
