"""What is a label's key and value. The wordings stand in golden/kubernetes/selectors.json."""

import pytest

from adapter.core.labels import invalid, key_faults, value_faults


@pytest.mark.parametrize(
    "key",
    ["a", "A_b.C-d", "9", "in", "x" * 63, "example.com/x", "0.1.2.domain/99", f"{'p' * 253}/{'n' * 63}"],
)
def test_a_name_with_or_without_a_subdomain_before_it_is_a_key(key: str) -> None:
    assert key_faults(key) == []


@pytest.mark.parametrize(
    ("key", "faults"),
    [
        ("", 2),
        ("/", 3),
        ("x/", 2),
        ("/x", 1),
        ("a/b/c", 1),
        ("-x", 1),
        ("x" * 64, 1),
        ("x" * 64 + "-", 2),
        ("Example.com/x", 1),
        ("p" * 254 + "/x", 1),
        ("P" * 254 + "/" + "x" * 64 + "-", 4),
    ],
)
def test_every_fault_of_a_key_is_named_at_once(key: str, faults: int) -> None:
    assert len(key_faults(key)) == faults


@pytest.mark.parametrize("value", ["", "a", "A_b.C-d", "10.10.100.1", "v" * 63])
def test_a_name_or_nothing_is_a_value(value: str) -> None:
    assert value_faults(value) == []


def test_length_is_counted_in_bytes_and_survives_text_that_is_not_unicode() -> None:
    assert value_faults("é" * 32)[0] == value_faults("v" * 64)[0] == "must be no more than 63 bytes"
    assert len(value_faults("\udcff")) == 1


def test_what_stood_there_is_quoted_as_go_quotes_it() -> None:
    assert invalid("<nil>", 'é"\\\x01\x7f\u0085\U000e0001\v', "no") == (
        r'<nil>: Invalid value: "é\"\\\x01\x7f\u0085\U000e0001\v": no'
    )
