"""What is shown fits its terminal and says what it must: every pod, every reason, every line for a pipe."""

import io
import logging

import pytest
from rich.console import Console, ConsoleDimensions

from adapter.demo.faults import Fault, Spell
from adapter.demo.lines import Changes, Report, verdict
from adapter.demo.moment import Moment, Opening, state
from adapter.demo.promises import Broken, Promise, Promises
from adapter.demo.script import Scene
from adapter.demo.stage import FAST
from adapter.demo.table import Table, picture
from adapter.demo.tail import Tail, tailed
from adapter.demo.view import view
from adapter.logs import event
from tests.demo.telling import FLEET, LIMIT, observed

NOW = 9.0
SCENE = Scene(5.0, 4.0, "node-a", Fault.LOST_LABELS)
OPENING = Opening("curl -sk 'https://127.0.0.1:1/" + 150 * "x" + "'", "http://127.0.0.1:2/metrics", FAST, 3, 6)


def moment(at: float = NOW, scene: Scene | None = SCENE, promises: Promises | None = None) -> Moment:
    fleet = FLEET.struck(scene.node, Spell(scene.fault, scene.start)) if scene else FLEET
    ailing = ((scene.node, scene.fault),) if scene else ()
    views = view(fleet, observed(fleet, at))
    return Moment(at, scene, 1.5, True, ailing, views, promises or Promises(FAST))


def drawn(shown: Moment, width: int, height: int, log: tuple[str, ...] = ()) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(picture(shown, log, LIMIT, ConsoleDimensions(width, height)))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_table_fits_its_terminal_and_shows_every_pod_with_its_reason(width: int) -> None:
    lines = drawn(moment(), width, 24)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert all(pod in text for pod in ("infer-0", "infer-1", "infer-2", "infer-3", "train-0", "train-1"))
    assert text.count("mapping_lost") == 2
    assert "lost labels on node-a" in text
    assert text.count("HPA wants") == 2
    assert all(act in text for act in (" f freeze", " l lost labels"))


def test_log_is_shown_where_there_is_room() -> None:
    assert "\n".join(drawn(moment(), 120, 40, ("withheld infer-0",))).count("withheld infer-0") == 1
    assert "withheld infer-0" not in "\n".join(drawn(moment(), 120, 24, ("withheld infer-0",)))


def test_broken_promise_takes_the_place_of_the_kept_ones() -> None:
    promises = Promises(FAST)
    assert "no promise broken" in "\n".join(drawn(moment(promises=promises), 120, 40))
    promises.broken.append(Broken(Promise.YOUNG, NOW, "infer-0", "freeze", "too old"))
    assert "1 broken" in "\n".join(drawn(moment(promises=promises), 120, 40))


def test_curl_line_stays_in_one_piece_however_narrow_the_terminal() -> None:
    out = io.StringIO()
    with Table(Console(file=out, width=80, force_terminal=True, color_system=None)) as table:
        table.open(OPENING)
        table.seen(moment())
        table.close(Promises(FAST), complete=True)
    assert OPENING.curl in out.getvalue().splitlines()
    assert OPENING.metrics in out.getvalue().splitlines()
    assert "\x1b[?25h" in out.getvalue()  # the cursor is back


def test_fleet_is_healthy_only_once_every_pod_is_served_again() -> None:
    assert state(moment()) == "lost labels on node-a"
    assert state(moment(scene=None)) == "healthy"
    struck = moment()
    assert state(Moment(NOW, None, 1.0, True, (), struck.views, struck.promises)) == "recovering"


def test_pipe_gets_a_line_a_change_and_at_most_one_a_second() -> None:
    out = io.StringIO()
    changes = Changes(out)
    changes.seen(moment(6.0, None))
    changes.seen(moment(6.2))
    changes.seen(moment(6.3))
    assert len(out.getvalue().splitlines()) == 1
    changes.seen(moment(7.4))
    first, second = out.getvalue().splitlines()
    assert "6 of 6 pods served" in first
    assert "4 of 6 pods served, infer-0 mapping_lost, infer-3 mapping_lost" in second
    assert "naive" in second


def test_report_has_one_line_a_fault_with_pods_reason_and_recovery() -> None:
    out = io.StringIO()
    report = Report(out)
    report.open(OPENING)
    before = len(out.getvalue().splitlines())
    for at in (3.0, 3.5):
        report.seen(moment(at, None))
    for at in (5.0, 6.0, 7.0):
        report.seen(moment(at))
    for at in (9.0, 9.5):
        report.seen(moment(at, None))
    assert len(out.getvalue().splitlines()) == before
    report.close(Promises(FAST), complete=True)
    line = out.getvalue().splitlines()[before]
    assert "5.0s  lost labels on node-a" in line
    assert "infer-0 infer-3 mapping_lost after 0s" in line
    assert "naive" in line


def test_verdict_counts_what_was_kept_and_tells_what_was_broken() -> None:
    promises = Promises(FAST)
    promises.kept[Promise.YOUNG] = promises.kept[Promise.DATED] = 7
    promises.broken.append(Broken(Promise.YOUNG, 9.0, "infer-0", "freeze", "it is 3s old"))
    lines = list(verdict(promises, complete=False))
    assert lines[-1] == "1 promises kept, 1 broken"
    assert any(line.startswith("broken") and Promise.YOUNG in line for line in lines)
    assert any("infer-0, freeze" in line and "3s old" in line for line in lines)
    assert "stopped before the script was over" in lines
    assert "stopped" not in "".join(verdict(promises, complete=True))


def test_log_is_kept_for_the_table_each_line_once_and_given_back() -> None:
    tail, log, before = Tail(keep=2), logging.getLogger("adapter"), logging.getLogger().handlers[:]
    with tailed(tail):
        for pod in ("p-0", "p-1", "p-1", "p-2"):
            event(log, logging.WARNING, "withheld", metric="m", object=pod, reason="frozen")
        event(log, logging.INFO, "recovered", object="p-0")
        assert tail.lines == ("withheld p-1 frozen", "withheld p-2 frozen")
    assert logging.getLogger().handlers == before
