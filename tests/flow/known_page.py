"""A page whose samples' times are known, scraped every second by a real Prometheus.

Most series carry explicit timestamps: an earlier one at the first scrape, a later one at all others, so that the truth
stands still. The `beat` series carry none; a test can take them away.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from adapter.promql.rows import TAG
from tests.flow.prometheus_server import ask, running_prometheus

# Series, its value, and how many seconds before the start its latest sample was taken.
FIXED = [
    ('util{pod="a",gpu="0"}', 50, 10.0),
    ('util{pod="a",gpu="1"}', 70, 12.5),
    ('util{pod="b",gpu="0"}', 80, 5.0),
    ('util{pod="b",gpu="1"}', 10, 45.25),
    ('queue{pod="a"}', 2, 20.0),
    ('queue{pod="b"}', 4, 8.0),
    ('spare{pod="c"}', 9, 33.0),
    ('owner{pod="a",app="web"}', 1, 30.0),
    ('owner{pod="b",app="db"}', 1, 25.0),
    ('old{pod="a"}', 1, 90.0),
    ('lat_bucket{pod="a",le="0.1"}', 3, 15.0),
    ('lat_bucket{pod="a",le="+Inf"}', 4, 17.0),
]
BEATS = (
    'beat{pod="a",gpu="0"}',
    'beat{pod="a",gpu="1"}',
    'beat{pod="b",gpu="0"}',
    'beat_owner{pod="a",app="web"}',
    'beat_owner{pod="b",app="db"}',
)
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs: [{{job_name: page, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}]
"""


@dataclass
class Page:
    """What the page shows; `start` in seconds on the wall clock, which Prometheus shares."""

    start: float
    scrapes: int = 0
    beats: set[str] = field(default_factory=lambda: set(BEATS))

    def text(self) -> str:
        self.scrapes += 1
        earlier = 40.0 if self.scrapes == 1 else 0.0
        fixed = [f"{series} {value} {self.at(age + earlier)}" for series, value, age in FIXED]
        return "\n".join([*fixed, *(f"{series} 1" for series in sorted(self.beats)), ""])

    def at(self, age: float) -> int:
        """The sample time, in milliseconds, of what was `age` seconds old at the start."""
        return round((self.start - age) * 1000)


@dataclass(frozen=True)
class Scene:
    url: str
    page: Page

    def rows(self, query: str) -> list[Mapping[str, Any]]:
        """All rows of an answer that must be whole and without warnings."""
        answer = ask(self.url, query)
        assert (answer["code"], answer["status"], answer.get("warnings")) == (200, "success", None), answer
        rows: list[Mapping[str, Any]] = answer["data"]["result"]
        return rows

    def born(self, age: float) -> float:
        """The sample time in seconds of what was `age` seconds old at the start."""
        return self.page.at(age) / 1000


def by_labels(rows: list[Mapping[str, Any]], tag: str | None) -> dict[str, float]:
    """The values of one kind of row, by their labels as text, without name, target and tag."""
    found = {}
    for row in rows:
        own = {name: text for name, text in row["metric"].items() if name not in {"__name__", "job", "instance", TAG}}
        if row["metric"].get(TAG) == tag:
            found[",".join(f"{name}={own[name]}" for name in sorted(own))] = float(row["value"][1])
    return found


def until(holds: Callable[[], object], within: float = 20.0) -> None:
    """Asks until the condition holds; fails where it does not in time (seconds)."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        threading.Event().wait(0.1)


@contextmanager
def known_scene(directory: Path) -> Iterator[Scene]:
    page = Page(start=time.time())
    with serving(page) as port, running_prometheus(directory, CONFIG.format(port=port)) as url:
        scene = Scene(url, page)
        until(lambda: scene.rows("count(count_over_time(lat_bucket[5m]) == 2) == 2"))
        until(lambda: scene.rows("count(beat) == 3"))
        yield scene


@contextmanager
def serving(page: Page) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page.text().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name for it
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
