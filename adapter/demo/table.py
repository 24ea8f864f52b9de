"""The demo on a terminal: a live table, and keys that break things."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from adapter.core.timing import seconds
from adapter.demo.director import KEYS
from adapter.demo.lines import verdict
from adapter.demo.moment import Moment, Opening, state
from adapter.demo.promises import Promises
from adapter.demo.script import TOLD
from adapter.demo.tail import Tail
from adapter.demo.view import PodRow, Wanted, WorkloadView

BAR, SHORT_BAR = 10, 3  # cells
WIDE, HIGH = 100, 30  # columns from which on there is room for nodes and long bars; rows, for the log
ACTS = {**{key: TOLD[fault].title for key, fault in KEYS.items()}, "r": "recover", "space": "pause", "q": "quit"}


class Table:
    """Redrawn in place; what it prints before stays above, in one piece, so that it can be copied."""

    def __init__(self, console: Console) -> None:
        self.log = Tail()
        self._console = console
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._opening: Opening | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def open(self, opening: Opening) -> None:
        self._opening = opening
        for name, line in (("ask it yourself", opening.curl), ("its telemetry", opening.metrics)):
            self._console.print(Text(f"{name}:", "dim"), soft_wrap=True)
            self._console.print(Text(line, "cyan"), soft_wrap=True)
        self._live.start()

    def seen(self, moment: Moment) -> None:
        if self._opening is not None:
            limit = self._opening.rhythm.limit
            self._live.update(picture(moment, self.log.lines, limit, self._console.size), refresh=True)

    def close(self, promises: Promises, *, complete: bool) -> None:
        del complete  # a person ends it when it is enough
        self._live.stop()
        for line in verdict(promises, complete=True):
            self._console.print(line, highlight=False)


def picture(moment: Moment, log: Sequence[str], limit: float, size: ConsoleDimensions) -> RenderableType:
    """One observation on a terminal of that size. log: the adapter's last lines; limit: seconds."""
    shown = [Text(f"   {line}", "dim", no_wrap=True, overflow="ellipsis") for line in log if size.height >= HIGH]
    return Group(
        Text(),
        _headline(moment),
        _expectation(moment),
        _grid(moment, limit, wide=size.width >= WIDE),
        *shown,
        _book(moment.promises, limit),
        _legend(),
    )


def _headline(moment: Moment) -> Text:
    now = state(moment)
    style = {"healthy": "bold green", "recovering": "bold yellow"}.get(now, "bold red")
    line = Text(f" ● {now}", style, no_wrap=True, overflow="ellipsis")
    if not moment.playing:
        return line.append("   paused", "bold yellow")
    change = "recovers" if moment.scene else "next fault"
    return line.append(f"   {change} in {moment.left:.0f}s", "dim")


def _expectation(moment: Moment) -> Text:
    text = (
        TOLD[moment.ailing[-1][1]].expect
        if moment.ailing
        else "healthy: every pod is served once its exporter has collected, and never beyond its limit"
    )
    return Text(f"   {text}", "italic dim", no_wrap=True, overflow="ellipsis")


def _grid(moment: Moment, limit: float, *, wide: bool) -> Grid:
    cells = BAR if wide else SHORT_BAR
    grid = Grid(box=None, expand=True, padding=(0, 1), header_style="bold dim", pad_edge=True)
    grid.add_column("", width=10, no_wrap=True)
    if wide:
        grid.add_column("node", width=7, no_wrap=True, style="dim")
    grid.add_column("truth", justify="right", width=7, no_wrap=True)
    grid.add_column("answer", justify="right", width=7, no_wrap=True)
    grid.add_column("naive", justify="right", width=7, no_wrap=True)
    grid.add_column(f"age ≤ {seconds(limit)}", width=6 + cells, no_wrap=True)
    grid.add_column("withheld because", ratio=1, no_wrap=True, overflow="ellipsis")
    for view in moment.views:
        grid.add_row()
        for row in view.pods:
            grid.add_row(*_cells(row, limit, wide=wide))
        grid.add_row(*_hpa(view, wide=wide))
    grid.add_row()
    return grid


def _cells(row: PodRow, limit: float, *, wide: bool) -> list[Text]:
    answer = Text("—", "bold yellow") if row.answer is None else Text(_percent(row.answer), "bold green")
    reason = Text.assemble(
        (row.reason or ("" if row.answer is not None else "no reason"), "bold yellow"), " ", row.detail
    )
    return [
        Text(row.pod, "red" if row.fault else ""),
        *([Text(row.node)] if wide else []),
        Text(_percent(row.truth)),
        answer,
        Text(_percent(row.naive), "red" if row.fault else "dim"),
        _bar(row.age, limit, BAR if wide else SHORT_BAR),
        reason,
    ]


def _hpa(view: WorkloadView, *, wide: bool) -> list[Text]:
    """The same columns: what an HPA wants if it sees them."""
    wanted = view.wanted
    ours = "bold green" if wanted.ours == wanted.truth else "bold yellow"
    naive = "bold red" if wanted.harm > 0 else "bold"
    note = "the HPA gets an error: it stays as it is" if view.refused else _story(wanted)
    return [
        Text("HPA wants", "bold"),
        *([Text()] if wide else []),
        Text(str(wanted.truth), "bold"),
        Text(str(wanted.ours), ours),
        Text(str(wanted.naive), naive),
        Text(f"of {view.replicas} now", "dim"),
        Text(note, "dim"),
    ]


def _story(wanted: Wanted) -> str:
    if wanted.harm <= 0:
        return ""
    direction = "fewer" if wanted.naive < wanted.truth else "more"
    return f"naive: {abs(wanted.naive - wanted.truth)} {direction} than the truth calls for"


def _bar(age: float | None, limit: float, cells: int) -> Text:
    if age is None:
        return Text("·" * cells, "dim")
    filled = min(cells, max(0, round(cells * age / limit)))
    style = "green" if age < 0.7 * limit else "yellow" if age <= limit else "bold red"
    return Text.assemble(("━" * filled, style), ("╌" * (cells - filled), "grey35"), (f" {seconds(age):>5}", style))


def _book(promises: Promises, limit: float) -> Text:
    line = Text(" ", no_wrap=True, overflow="ellipsis")
    if promises.broken:
        return line.append(f"✘ {len(promises.broken)} broken: {promises.broken[-1]}", "bold red")
    line.append(f"✔ {sum(promises.kept.values()):,} checks, no promise broken", "green")
    return line.append(f"   oldest value served {seconds(promises.oldest)} of {seconds(limit)}", "dim")


def _legend() -> Text:
    parts = [part for key, act in ACTS.items() for part in ((f" {key}", "bold cyan"), (f" {act} ", "dim"))]
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _percent(value: float) -> str:
    return f"{value:.0f} %"
