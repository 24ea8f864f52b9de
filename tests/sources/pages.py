"""Pages for the scanner's tests: sound rows in every way of writing them, bad ones, and damaged ones."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from hypothesis import strategies as st

from adapter.core.samples import Row
from adapter.sources.exposition import Page, compile_wanted, scan

NAME: Final = "DCGM_FI_DEV_GPU_UTIL"
ENGINE: Final = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
NAMES: Final = (NAME, ENGINE, "DCGM_FI_DEV_FB_USED", "dcgm:used")
UNWANTED: Final = (f"{NAME}_RATIO", f"X{NAME}", "DCGM_FI_DEV_FB_FREE", "up")
WANTED: Final = compile_wanted(NAMES)


def read(text: str | bytes, blocks: Mapping[bytes, Mapping[str, str]] | None = None) -> Page:
    return scan(text if isinstance(text, bytes) else text.encode(), WANTED, blocks or {})


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
