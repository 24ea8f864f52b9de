"""Numbers as Kubernetes writes and reads them; its own answers are recorded in golden/kubernetes/quantities.json."""

import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from adapter.core.quantity import LARGEST_FOR_HPA, read, write

GOLDEN: Final = json.loads((Path(__file__).parents[1] / "golden/kubernetes/quantities.json").read_text("utf-8"))
READ: Final = [case for case in GOLDEN["cases"] if "error" not in case]
REFUSED: Final = [case for case in GOLDEN["cases"] if "error" in case]
CANONICAL: Final = re.compile(r"0|-?[1-9][0-9]*(?:[numkMGTPE]|e[0-9]+)?")
NOISE: Final = Decimal("1.1e-14")  # the 1e-14 that write promises, and the rounding of this test's own division
NUMBERS: Final = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
    st.floats(-2e-3, 2e-3),
    st.integers(-(10**15), 10**15).map(lambda thousandths: thousandths / 1000),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (80, "80"),
        (83.5, "83500m"),
        (0.5, "500m"),
        (100, "100"),
        (1000, "1k"),
        (1024, "1024"),
        (1500, "1500"),
        (1234000, "1234k"),
        (1234567e6, "1234567M"),
        (1e12, "1T"),
        (1e15, "1P"),
        (9e18, "9E"),
        (1e19, "10E"),
        (1e20, "100E"),
        (9007199254740992.0, "9007199254740992"),
        (123456.789, "123456789m"),
        (9255594666.5, "9255594666500m"),
        (-1.5, "-1500m"),
        (-2, "-2"),
        (-0.25, "-250m"),
    ],
    ids=str,
)
def test_a_number_is_written_in_canonical_form(value: float, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "100m"), (0.1 + 0.2, "300m"), (2.675, "2675m"), (19.6, "19600m"), (1.1 * 3, "3300m")]
)
def test_float_noise_is_not_written(value: float, text: str) -> None:
    assert write(value) == text
    assert write(-value) == f"-{text}"


def test_float_noise_below_a_whole_number_is_not_written() -> None:
    assert write(99.99999999999999) == write(100.00000000000001) == "100"
    assert write(sum([0.1] * 100)) == "10"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0005, "1001m"),
        (1.23456, "1235m"),
        (0.7146, "715m"),
        (1 / 3, "334m"),
        (0.0010001, "2m"),
        (-1.0005, "-1"),
        (-1 / 3, "-333m"),
    ],
    ids=str,
)
def test_what_is_finer_than_a_thousandth_is_rounded_up(value: float, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "1m"),
        (0.0005, "500u"),
        (0.00049, "490u"),
        (0.0001, "100u"),
        (0.00012345, "123450n"),
        (1e-9, "1n"),
        (1e-10, "1n"),
        (5e-324, "1n"),
        (-0.0005, "-500u"),
        (-1e-12, "0"),
    ],
    ids=str,
)
def test_a_number_below_a_thousandth_is_written_finer_and_never_as_0_if_positive(value: float, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1e21, "1e21"), (1e25, "10e24"), (-1e25, "-10e24"), (1e308, "100e306"), (1.5e21, "1500E")]
)
def test_beyond_the_largest_suffix_an_exponent_is_written(value: float, text: str) -> None:
    assert write(value) == text
    assert read(text) == Decimal(repr(value))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_never_written(value: float) -> None:
    with pytest.raises(ValueError, match="cannot be written as a quantity"):
        write(value)


def test_the_hpa_sees_the_largest_number_right_and_no_larger_one() -> None:
    assert read(write(LARGEST_FOR_HPA)) * 1000 < 2**63
    assert read(write(math.nextafter(LARGEST_FOR_HPA, math.inf))) * 1000 >= 2**63


@pytest.mark.parametrize("case", READ, ids=lambda case: repr(case["text"][:40]))
def test_what_kubernetes_reads_is_read_as_the_same_number(case: dict[str, Any]) -> None:
    assert read(case["text"]) == Decimal(case["number"])


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: repr(case["text"]))
def test_what_kubernetes_cannot_read_is_refused_in_its_words(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=re.escape(case["error"]) + "$"):
        read(case["text"])


@pytest.mark.parametrize("text", ["-", "+", ".", "-.", "m", ".Ki", "e3"])
def test_a_text_without_a_digit_is_not_read_as_0(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        read(text)


def test_an_exponent_of_more_than_nine_digits_is_not_read() -> None:
    assert read("1e000000003") == 1000
    with pytest.raises(ValueError, match="unable to parse quantity's suffix"):
        read("1e4294967299")


@given(NUMBERS)
@example(0.0009999999999999999)
@example(0.0010000000000000002)
@example(9.223372036854775e15)
def test_what_is_written_is_the_number_or_the_next_step_above_it(value: float) -> None:
    exact = Decimal(repr(value))
    step = Decimal("1e-9") if abs(exact) < Decimal("0.001") else Decimal("1e-3")
    excess = read(write(value)) - exact
    assert -abs(exact) * NOISE <= excess <= step


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_a_positive_number_is_never_written_as_0(value: float) -> None:
    assert read(write(value)) > 0


@given(NUMBERS)
def test_what_is_written_is_canonical(value: float) -> None:
    text = write(value)
    assert CANONICAL.fullmatch(text)
    assert not text.rstrip("numkMGTPE").endswith("000")


@given(NUMBERS, NUMBERS)
def test_a_larger_number_never_gets_a_smaller_text(one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert read(write(small)) <= read(write(large))


@given(NUMBERS)
def test_neighbouring_floats_keep_their_order(value: float) -> None:
    above = math.nextafter(value, math.inf)
    assume(math.isfinite(above))
    assert read(write(value)) <= read(write(above))


@given(st.integers(-(10**13), 10**13))
def test_whole_thousandths_are_written_exactly(thousandths: int) -> None:
    assert read(write(thousandths / 1000)) * 1000 == thousandths
