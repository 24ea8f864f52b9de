"""What is a row, what is a bad row, and what a bad row costs: itself."""

import math
from typing import Final

import pytest

from adapter.core.samples import Row
from adapter.sources.exposition import Page, compile_wanted, complete, scan
from tests.sources.pages import BAD_ROWS, ENGINE, NAME, read

DCGM_ROW: Final = (
    f'{NAME}{{gpu="0",UUID="GPU-1",pci_bus_id="00000000:3B:00.0",device="nvidia0",modelName="Tesla T4",'
    'hostname="node-7",DCGM_FI_DRIVER_VERSION="550.54.15",container="srv",namespace="ml",pod="srv-7c9-x2x"} 63'
)


def row(labels: dict[str, str], value: float = 3.0, wall: float | None = None) -> Row:
    return Row(NAME, labels, value, wall)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"{NAME} 3\n", row({}), id="no-labels"),
        pytest.param(f"{NAME}{{}} 3\n", row({}), id="empty-braces"),
        pytest.param(f'{NAME}{{a="x"}} 3', row({"a": "x"}), id="no-last-newline"),
        pytest.param(f'{NAME}{{a="x"}} 3\r\n', row({"a": "x"}), id="crlf"),
        pytest.param(f'\t {NAME}{{a="x"}} 3 \t\n', row({"a": "x"}), id="blanks-around-the-row"),
        pytest.param(f'{NAME} \t{{ a\t= "x" , b ="y"\t,\t}}\t3\n', row({"a": "x", "b": "y"}), id="blanks-everywhere"),
        pytest.param(f'{NAME}{{a="x"}}3\n', row({"a": "x"}), id="no-blank-before-the-value"),
        pytest.param(f'{NAME}{{a="x",}} 3\n', row({"a": "x"}), id="trailing-comma"),
        pytest.param(rf'{NAME}{{a="\\ \" \n"}} 3', row({"a": '\\ " \n'}), id="the-three-escapes"),
        pytest.param(rf'{NAME}{{a="\\n"}} 3', row({"a": r"\n"}), id="escaped-backslash-before-n"),
        pytest.param(rf'{NAME}{{a="C:\dir"}} 3', row({"a": r"C:\dir"}), id="unknown-escape-stays"),
        pytest.param(rf'{NAME}{{a="\",pod=\"q",pod="p"}} 3', row({"a": '",pod="q', "pod": "p"}), id="label-in-a-value"),
        pytest.param(
            f'{NAME}{{a="}} 4,b=#<>{{",b="y"}} 3\n', row({"a": "} 4,b=#<>{", "b": "y"}), id="marks-in-a-value"
        ),
        pytest.param(f'{NAME}{{a="x\ty é \U0001f600"}} 3\n', row({"a": "x\ty é \U0001f600"}), id="any-text"),
        pytest.param(f'{NAME}{{a="x"}} 3 1700000000123\n', row({"a": "x"}, wall=1700000000.123), id="milliseconds"),
        pytest.param(f"{NAME} 3\t-500\n", row({}, wall=-0.5), id="before-1970"),
        pytest.param(f'{NAME}{{gpu="0",pod="",namespace=""}} 3\n', row({"gpu": "0"}), id="empty-is-absent"),
        pytest.param(
            f'{NAME}{{a="<<<NULL>>>",b="<<<NOT_FOUND>>>",c="<<<NOT_SUPPORTED>>>",UUID="<<<NOT_PERM>>>",d="<<<"}} 3\n',
            row({"d": "<<<"}),
            id="dcgm-blanks-are-absent",
        ),
        pytest.param(f'{NAME}{{gpu="0",pod="p",gpu="7"}} 3\n', row({"gpu": "0", "pod": "p"}), id="first-of-two-labels"),
        pytest.param(f'{NAME}{{gpu="",pod="p",gpu="7"}} 3\n', row({"pod": "p"}), id="first-of-two-labels-is-empty"),
        pytest.param(f"# HELP {NAME} {NAME} 4\n# TYPE {NAME} gauge\n{NAME} 3\n", row({}), id="help-is-no-row"),
        pytest.param(f"{NAME}_RATIO 1\n{NAME} 3\nX{NAME} 5\n{NAME}: 6\n", row({}), id="longer-names-are-others"),
        pytest.param(f'up{{a="{NAME} 4"}} 1\nup {NAME} 4\n{NAME} 3\n', row({}), id="name-inside-another-row"),
        pytest.param(
            DCGM_ROW,
            Row(
                NAME,
                {
                    "gpu": "0",
                    "UUID": "GPU-1",
                    "pci_bus_id": "00000000:3B:00.0",
                    "device": "nvidia0",
                    "modelName": "Tesla T4",
                    "hostname": "node-7",
                    "DCGM_FI_DRIVER_VERSION": "550.54.15",
                    "container": "srv",
                    "namespace": "ml",
                    "pod": "srv-7c9-x2x",
                },
                63.0,
            ),
            id="dcgm-exporter-4",
        ),
    ],
)
def test_a_sound_row_is_read(text: str, expected: Row) -> None:
    page = read(text)
    assert page.rows == (expected,)
    assert page.skipped == 0
    assert page.families == {NAME}


EACH_BAD_ROW: Final = pytest.mark.parametrize("bad", BAD_ROWS.values(), ids=BAD_ROWS)


@EACH_BAD_ROW
def test_a_bad_row_is_skipped_and_counted(bad: bytes) -> None:
    page = read(bad + b"\n")
    assert page.rows == ()
    assert page.skipped == 1
    assert page.families == {NAME}


@EACH_BAD_ROW
def test_a_bad_row_costs_its_neighbours_nothing(bad: bytes) -> None:
    before, after = f'{NAME}{{gpu="1"}} 1\n'.encode(), f'{NAME}{{gpu="2"}} 2\n'.encode()
    page = read(before + bad + b"\n" + after)
    assert page.rows == (row({"gpu": "1"}, 1.0), row({"gpu": "2"}, 2.0))
    assert page.skipped == 1


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# EOF\n", "up 1\n", f'{{"{NAME}",a="b"}} 3\n', f"#{NAME} 3\n", "\x00\xff"], ids=repr
)
def test_a_page_without_the_wanted_families_shows_none(text: str) -> None:
    assert read(text) == Page((), 0, frozenset(), {})


def test_who_wants_nothing_gets_nothing() -> None:
    assert scan(f"{NAME} 3\n\n 4\n".encode(), compile_wanted([]), {}).rows == ()


@pytest.mark.parametrize("name", ["", "a b", "a.b", "0a", "a\n", "é", "a|b"], ids=repr)
def test_what_is_no_metric_name_cannot_be_wanted(name: str) -> None:
    with pytest.raises(ValueError, match="not a metric name"):
        compile_wanted([NAME, name])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0.0),
        ("-0", -0.0),
        ("+1", 1.0),
        ("0.372518", 0.372518),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5E-3", -0.0005),
        ("1e+3", 1000.0),
        ("9223372036854775794", 9223372036854775794.0),
        ("+Inf", math.inf),
        ("-inf", -math.inf),
        ("Infinity", math.inf),
        ("1e999", math.inf),
        ("NaN", math.nan),
        ("nan", math.nan),
    ],
)
def test_every_number_of_the_format_is_handed_on_unjudged(text: str, value: float) -> None:
    (found,) = read(f"{NAME} {text}\n").rows
    assert repr(found.value) == repr(value)


def test_a_family_in_two_places_keeps_page_order() -> None:
    page = read(
        f'# HELP {NAME} x\n# TYPE {NAME} gauge\n{NAME}{{gpu="0"}} 1\n{ENGINE}{{gpu="0"}} 0.5\n'
        f'# HELP {NAME} x\n# TYPE {NAME} gauge\n{NAME}{{nvswitch="0"}} 2\n'
    )
    assert [(found.name, found.value) for found in page.rows] == [(NAME, 1.0), (ENGINE, 0.5), (NAME, 2.0)]
    assert page.families == {NAME, ENGINE}


def test_of_ten_thousand_rows_a_broken_one_costs_one() -> None:
    lines = [f'{NAME}{{gpu="{i % 8}",note="n{i}"}} {i}' for i in range(10_000)]
    lines[4321] = lines[4321].replace("n4321", 'say "hi')
    page = read("\n".join(lines) + "\n")
    assert len(page.rows) == 9_999
    assert page.skipped == 1
    assert [int(found.value) for found in page.rows] == [i for i in range(10_000) if i != 4321]


@pytest.mark.parametrize(
    ("page", "whole"),
    [(b"", False), (b"up 1", False), (b"up 1\n", True), (b"up 1\r\n", True), (b"up 1\nup 2", False), (b"\n", True)],
    ids=repr,
)
def test_a_page_is_complete_if_it_ends_with_a_line(page: bytes, whole: bool) -> None:
    assert complete(page) is whole


def test_labels_that_a_page_no_longer_has_are_forgotten() -> None:
    first = read(f'{NAME}{{pod="old"}} 1\n{NAME}{{pod="stays"}} 1\nup{{pod="other"}} 1\n{NAME}{{pod="bad"}} x\n')
    second = read(f'{NAME}{{pod="stays"}} 2\n{NAME}{{pod="new"}} 2\n', first.blocks)
    assert set(first.blocks) == {b'pod="old"', b'pod="stays"'}
    assert set(second.blocks) == {b'pod="stays"', b'pod="new"'}


def test_shared_labels_cannot_be_changed() -> None:
    (found,) = read(f'{NAME}{{pod="p"}} 1\n').rows
    with pytest.raises(TypeError):
        found.labels["pod"] = "q"  # type: ignore[index]  # what is tested is that this fails
