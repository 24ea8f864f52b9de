"""A page is read line by line: prometheus_client is the oracle for sound pages, and a bad row costs itself only."""

import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from adapter.core.samples import Row
from adapter.sources.exposition import Page, compile_wanted, complete, scan

NAME: Final = "DCGM_FI_DEV_GPU_UTIL"
ENGINE: Final = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
NAMES: Final = (NAME, ENGINE, "DCGM_FI_DEV_FB_USED", "dcgm:used")
UNWANTED: Final = (f"{NAME}_RATIO", f"X{NAME}", "DCGM_FI_DEV_FB_FREE", "up")
WANTED: Final = compile_wanted(NAMES)
DCGM_ROW: Final = (
    f'{NAME}{{gpu="0",UUID="GPU-1",pci_bus_id="00000000:3B:00.0",device="nvidia0",modelName="Tesla T4",'
    'hostname="node-7",DCGM_FI_DRIVER_VERSION="550.54.15",container="srv",namespace="ml",pod="srv-7c9-x2x"} 63'
)


def read(text: str | bytes, blocks: Mapping[bytes, Mapping[str, str]] | None = None) -> Page:
    return scan(text if isinstance(text, bytes) else text.encode(), WANTED, blocks or {})


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


BAD_ROWS: Final = {
    "unescaped-quote": f'{NAME}{{gpu="0",note="say "hi"",pod="p"}} 3'.encode(),
    "open-quote": f'{NAME}{{gpu="0}} 3'.encode(),
    "value-ends-in-a-backslash": rf'{NAME}{{gpu="0",path="C:\"}} 3'.encode(),
    "raw-newline-in-a-value": f'{NAME}{{gpu="0",note="a\nb"}} 3'.encode(),
    "no-closing-brace": f'{NAME}{{gpu="0" 3'.encode(),
    "no-opening-brace": f'{NAME} gpu="0"}} 3'.encode(),
    "two-label-sets": f'{NAME}{{gpu="0"}}{{gpu="1"}} 3'.encode(),
    "exemplar": f'{NAME}{{gpu="0"}} 3 # {{a="b"}} 1'.encode(),
    "no-comma": f'{NAME}{{gpu="0" pod="p"}} 3'.encode(),
    "two-commas": f'{NAME}{{gpu="0",,pod="p"}} 3'.encode(),
    "comma-alone": f"{NAME}{{,}} 3".encode(),
    "label-without-a-value": f'{NAME}{{gpu,pod="p"}} 3'.encode(),
    "label-without-quotes": f"{NAME}{{gpu=0}} 3".encode(),
    "label-name-begins-with-a-digit": f'{NAME}{{0="x"}} 3'.encode(),
    "quoted-label-name": f'{NAME}{{"gpu"="0"}} 3'.encode(),
    "invalid-utf-8": NAME.encode() + b'{gpu="\xff"} 3',
    "surrogate-in-utf-8": NAME.encode() + b'{gpu="\xed\xa0\x80"} 3',
    "no-value": f'{NAME}{{gpu="0"}}'.encode(),
    "name-alone": NAME.encode(),
    "name-stuck-to-its-value": f"{NAME}-3".encode(),
    "text-value": f'{NAME}{{gpu="0"}} ERROR - FAILED TO CONVERT TO STRING'.encode(),
    "one-word-value": f'{NAME}{{gpu="0"}} P0'.encode(),
    "underscore": f"{NAME} 1_0".encode(),
    "hexadecimal": f"{NAME} 0x1p2".encode(),
    "no-digits": f"{NAME} .".encode(),
    "two-points": f"{NAME} 1.2.3".encode(),
    "empty-exponent": f"{NAME} 1e".encode(),
    "two-signs": f"{NAME} --1".encode(),
    "other-digits": f"{NAME} ٣".encode(),
    "broken-infinity": f"{NAME} infi".encode(),
    "three-numbers": f"{NAME} 3 4 5".encode(),
    "fraction-of-a-millisecond": f"{NAME} 3 4.5".encode(),
    "endless-timestamp": f"{NAME} 3 {'9' * 5000}".encode(),
    "other-blanks": f"{NAME} 3\v4".encode(),
    "null-byte": f"{NAME} 3\0".encode(),
    "carriage-return-inside": f"{NAME} 3\r4".encode(),
    "very-many-digits": f"{NAME} {'9' * 100_000}x".encode(),
    "very-many-braces": f"{NAME}{{{'} 1 1' * 100_000}x".encode(),
    "very-many-blanks": f"{NAME}{' ' * 100_000}x".encode(),
    "very-many-escapes": f'{NAME}{{a="{chr(92) * 100_001}"}} 3'.encode(),
    "very-many-labels": (f"{NAME}{{" + 'a="b",' * 20_000 + "!} 3").encode(),
}
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


# --- sound pages, as text and as what they say ---------------------------------------------------------------------

BLANK: Final = st.sampled_from(["", "", " ", "\t", "  ", " \t "])
GAP: Final = st.sampled_from([" ", "\t", "  ", " \t"])
LABEL: Final = st.sampled_from(["gpu", "UUID", "pod", "namespace", "modelName", "a_1", "_x"])
TEXT: Final = st.text(
    st.one_of(st.sampled_from('\\"\n{}=,#<> n\t\r'), st.characters(exclude_categories=["Cs"])), max_size=8
)
NUMBER: Final = st.one_of(
    st.floats().map(repr),
    st.integers(-(2**63), 2**64).map(str),
    st.sampled_from(["NaN", "+Inf", "-Inf", "infinity", "1.", ".5", "1E-3", "-0", "0.000000", "63"]),
)
STAMP: Final = st.one_of(st.none(), st.integers(-(10**12), 10**13))


class Sound(NamedTuple):
    """A row as written."""

    name: str
    labels: tuple[tuple[str, str], ...]
    number: str
    stamp: int | None
    text: str


def escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


@st.composite
def sound_rows(draw: st.DrawFn, names: tuple[str, ...] = NAMES + UNWANTED) -> Sound:
    name, number, stamp = draw(st.sampled_from(names)), draw(NUMBER), draw(STAMP)
    labels = tuple(draw(st.dictionaries(LABEL, TEXT, max_size=4)).items())
    written = [
        f'{draw(BLANK)}{label}{draw(BLANK)}={draw(BLANK)}"{escaped(value)}"{draw(BLANK)}' for label, value in labels
    ]
    comma = draw(st.sampled_from(["", ",", ", "])) if labels else ""
    braces = bool(labels) or draw(st.booleans())
    block = f"{draw(BLANK)}{{{','.join(written)}{comma}}}{draw(BLANK)}" if braces else draw(GAP)
    tail = draw(GAP) + str(stamp) if stamp is not None else ""
    text = f"{draw(BLANK)}{name}{block}{number}{tail}{draw(st.sampled_from(['', ' ', chr(9), chr(13)]))}"
    return Sound(name, labels, number, stamp, text)


NOISE: Final = st.sampled_from(
    ["", " ", f"# HELP {NAME} {NAME} 4", f"# TYPE {NAME} gauge", f"# TYPE {ENGINE} gauge", "# EOF", f"# {NAME} 1"]
)
LINES: Final = st.lists(st.one_of(sound_rows().map(lambda sound: sound.text), NOISE), max_size=12)


def comparable(rows: tuple[Row, ...]) -> list[tuple[str, dict[str, str], str, float | None]]:
    """NaN equals itself here, and -0 equals 0, which prometheus_client does not tell apart."""
    return [(found.name, dict(found.labels), repr(found.value + 0.0), found.wall) for found in rows]


def by_prometheus_client(text: str) -> Iterator[Row]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in NAMES:
                labels = {name: value for name, value in sample.labels.items() if value}
                wall = sample.timestamp
                assert wall is None or isinstance(wall, float)
                yield Row(sample.name, labels, float(sample.value), wall)


@given(lines=LINES, last=st.sampled_from(["", "\n"]))
def test_sound_pages_are_read_as_prometheus_client_reads_them(lines: list[str], last: str) -> None:
    text = "\n".join(lines) + last
    page = read(text)
    assert comparable(page.rows) == comparable(tuple(by_prometheus_client(text)))
    assert page.skipped == 0


@given(sound=sound_rows(NAMES))
def test_what_was_written_is_read(sound: Sound) -> None:
    wall = None if sound.stamp is None else sound.stamp / 1000
    expected = Row(sound.name, {name: value for name, value in sound.labels if value}, float(sound.number), wall)
    assert comparable(read(sound.text).rows) == comparable((expected,))


# --- laws ----------------------------------------------------------------------------------------------------------


@st.composite
def damaged_rows(draw: st.DrawFn) -> bytes:
    """A sound row with some bytes taken out and others put in; it may even still be sound."""
    written = bytearray(draw(sound_rows(NAMES)).text.encode())
    start = draw(st.integers(0, len(written)))
    put = draw(st.one_of(st.sampled_from([b"", b'"', b"\\", b"}", b"{", b",", b"\xff"]), st.binary(max_size=3)))
    written[start : start + draw(st.integers(0, 3))] = put
    return bytes(written).replace(b"\n", b"")


GARBAGE: Final = st.one_of(
    damaged_rows(),
    st.binary(max_size=30).map(lambda junk: junk.replace(b"\n", b"")),
    st.sampled_from([bad for bad in BAD_ROWS.values() if len(bad) < 200]),
)


@given(before=LINES, garbage=GARBAGE, after=LINES)
@example([f'{NAME}{{gpu="0"}} 1'], f'{NAME}{{gpu="'.encode(), [f'{NAME}{{gpu="1"}} 2'])
def test_a_bad_row_never_changes_another_row(before: list[str], garbage: bytes, after: list[str]) -> None:
    head, tail = "\n".join(["", *before, ""]).encode(), "\n".join(["", *after, ""]).encode()
    page, bad = read(head + garbage + tail), read(garbage)
    assert comparable(page.rows) == comparable(read(head).rows + bad.rows + read(tail).rows)
    assert page.skipped == bad.skipped


@given(page=st.lists(GARBAGE, max_size=8).map(b"\n".join), earlier=st.lists(GARBAGE, max_size=8).map(b"\n".join))
def test_remembered_labels_change_no_result(page: bytes, earlier: bytes) -> None:
    alone, after = read(page), read(page, read(earlier).blocks)
    again = read(page, alone.blocks)
    assert comparable(alone.rows) == comparable(after.rows) == comparable(again.rows)
    assert alone.skipped == after.skipped == again.skipped
    assert alone.blocks == after.blocks == again.blocks


@given(sound=sound_rows(NAMES))
def test_the_same_label_bytes_are_one_mapping_from_page_to_page(sound: Sound) -> None:
    first = read(f"{sound.text}\n{sound.text}\n")
    second = read(sound.text, first.blocks)
    assert first.rows[0].labels is first.rows[1].labels is second.rows[0].labels


def test_labels_that_a_page_no_longer_has_are_forgotten() -> None:
    first = read(f'{NAME}{{pod="old"}} 1\n{NAME}{{pod="stays"}} 1\nup{{pod="other"}} 1\n{NAME}{{pod="bad"}} x\n')
    second = read(f'{NAME}{{pod="stays"}} 2\n{NAME}{{pod="new"}} 2\n', first.blocks)
    assert set(first.blocks) == {b'pod="old"', b'pod="stays"'}
    assert set(second.blocks) == {b'pod="stays"', b'pod="new"'}


def test_shared_labels_cannot_be_changed() -> None:
    (found,) = read(f'{NAME}{{pod="p"}} 1\n').rows
    with pytest.raises(TypeError):
        found.labels["pod"] = "q"  # type: ignore[index]  # what is tested is that this fails
