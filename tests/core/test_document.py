"""YAML is read strictly: nothing is guessed, nothing is lost, and every fault says where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.document import document
from adapter.core.errors import ConfigError, Fault
from adapter.core.yaml_nodes import MAX_BYTES


def faults(content: bytes) -> tuple[Fault, ...]:
    with pytest.raises(ConfigError) as error:
        document(content)
    return error.value.faults


@pytest.mark.parametrize(
    "text", ["on", "yes", "No", "12:30", "0755", "1_000", "0x1f", "2026-12-01", "1e3", ".inf", "TRUE"]
)
def test_what_yaml_1_1_guesses_stays_text(text: str) -> None:
    item = document(f"key: {text}".encode()).get("key")
    assert item is not None
    assert item.text(None) == text


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        pytest.param(b"a: 1\nb: [1\n", 3, "is not YAML", id="syntax"),
        pytest.param(b"a: 1\n---\nb: 2\n", 2, "is not YAML", id="two documents"),
        pytest.param(b"a: &x 1\nb: *x\n", 2, "aliases are not read", id="alias"),
        pytest.param(b"a: 1\nb: \xff\n", 2, "is not UTF-8", id="encoding"),
        pytest.param(b"a" * (MAX_BYTES + 1), 0, "at most", id="size"),
        pytest.param(b"a: &x [*x]\n", 1, "aliases are not read", id="alias inside itself"),
        pytest.param(b"a: 1\nb: !!bool yes\n", 2, "tags are not read", id="tag"),
        pytest.param(b"a: 1\nb: \x00", 2, "is not YAML", id="control character"),
        pytest.param(b"a: 1\nb:\tc: 1", 2, "is not YAML", id="tab"),
        pytest.param(b'a: 1\nb: "\\UFFFFFFFF"', 2, "names no character", id="escape beyond C's integers"),
        pytest.param(b'a: 1\nb: "\\U00110000"', 2, "names no character", id="escape beyond Unicode"),
        pytest.param(b"%YAML 1." + b"9" * 5000 + b"\n---\na: 1", 1, "no version", id="version"),
        pytest.param(b"a: 1\nb: " + b"[" * 5000, 2, "nested too deep", id="depth"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(content: bytes, line: int, words: str) -> None:
    (fault,) = faults(content)
    assert words in fault.text
    assert fault.line == line


def test_every_fault_is_found_with_path_and_line() -> None:
    top = document(b"a: x\nb:\n  c: 3s\n  c: 4s\nd: [1, x]\nunknwn: 1\nlist: {}\n")
    assert top.get("a").number(0.0, 0, 1) == 0.0  # type: ignore[union-attr]
    top.section("b").get("c")
    assert [item.number(0.0, 0, 5) for item in top.get("d").items()] == [1.0, 0.0]  # type: ignore[union-attr]
    assert top.get("list").items() == []  # type: ignore[union-attr]
    top.get("unknown")
    top.close()
    with pytest.raises(ConfigError) as error:
        top.refuse()
    assert [(fault.line, fault.path) for fault in error.value.faults] == [
        (1, "a"),
        (4, "b.c"),
        (5, "d[1]"),
        (6, "unknwn"),
        (7, "list"),
    ]
    assert "did you mean unknown?" in str(error.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15s", 15), ("1m30s", 90), ("500ms", 0.5), ("1h", 3600), ("1.5s", 1.5), ("2d", 172800)],
)
def test_durations_are_prometheus_durations(text: str, seconds: float) -> None:
    item = document(f"key: {text}".encode()).get("key")
    assert item is not None
    assert item.duration(None) == seconds


@pytest.mark.parametrize("text", ["15", "s", "0s", "-1s", "1s1m", "'1 s'", "[1s]", "{}", "8d", "9" * 400 + "s", "١٥s"])
def test_what_is_no_duration_is_a_fault(text: str) -> None:
    top = document(f"key: {text}".encode())
    assert top.get("key").duration(None) is None  # type: ignore[union-attr]
    with pytest.raises(ConfigError):
        top.refuse()


@pytest.mark.parametrize(("text", "size"), [("8Mi", 8 << 20), ("1Gi", 1 << 30), ("512Ki", 512 << 10), ("4096", 4096)])
def test_sizes_are_bytes(text: str, size: int) -> None:
    item = document(f"key: {text}".encode()).get("key")
    assert item is not None
    assert item.size(None) == size


@pytest.mark.parametrize("text", ["0", "-1", "8MB", "8 Mi", "1.5Gi", "2Gi", "9" * 5000, "[8Mi]"])
def test_what_is_no_size_is_a_fault(text: str) -> None:
    top = document(f"key: {text}".encode())
    assert top.get("key").size(None) is None  # type: ignore[union-attr]
    with pytest.raises(ConfigError):
        top.refuse()


@pytest.mark.parametrize(
    "text",
    ['"a\\nb"', '"a\\0b"', '"\\ud800"', '""', "[a]", "{a: b}"],
    ids=["lines", "nul", "surrogate", "", "list", "map"],
)
def test_text_is_one_line_that_can_be_written_anywhere(text: str) -> None:
    top = document(f"key: {text}".encode())
    assert top.get("key").text(None) is None  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="line 1: key"):
        top.refuse()


def test_text_may_have_lines_where_it_is_said_so() -> None:
    item = document(b"key: |\n  sum(\n  \tx)\n").get("key")
    assert item is not None
    assert item.text(None, lines=True) == "sum(\n\tx)\n"


@pytest.mark.parametrize("text", ["yes", "on", "'true'", "1", "True"])
def test_only_true_and_false_are_flags(text: str) -> None:
    top = document(f"key: {text}".encode())
    assert top.get("key").flag(None) is None  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="must be true or false"):
        top.refuse()


@given(st.binary(max_size=200) | st.text(alphabet="ab:- {}[]\n&*!|>'\"#,?%@\t0", max_size=80).map(str.encode))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        top = document(content)
        top.close()
        top.refuse()
    except ConfigError as error:
        assert error.faults
