"""A number as a Kubernetes resource.Quantity, written and read.

Law: what is written is the number, or the next thousandth above it. A positive number is never written as 0, no
written text is below its number by more than float noise, and a larger number never gets a smaller text.
Facts: k8s.io/apimachinery v0.37, pkg/api/resource (quantity.go, suffix.go, amount.go).

- Written is the canonical decimal form: an integer, and the largest of n u m "" k M G T P E that keeps it one.
- Beyond E there is no suffix, and Kubernetes up to v0.37 reads "10000E" but echoes it as "10". The canonical exponent
  form, "10e21", it reads and echoes right: that is written.
- No Quantity is too large to be read, but the HPA counts thousandths in int64 (`MilliValue`), which wraps around
  without an error: it takes "9300T" and "9E" for 0. `LARGEST_FOR_HPA` is the last number that it sees right.
"""

import math
import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_CEILING, ROUND_HALF_EVEN, ROUND_UP, Context, Decimal
from typing import Final

LARGEST_FOR_HPA: Final = 9_223_372_036_854_774.0  # the last float at or below (2^63 − 1) ÷ 1000

_SUFFIXES: Final = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_DECIMAL: Final = {suffix: exponent for exponent, suffix in _SUFFIXES.items()}
_BINARY: Final = {suffix: 2 ** (10 * power) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_LARGEST_BINARY: Final = Decimal(2**63 - 1)
_MILLI, _NANO = -3, -9
_NOISE: Final = Decimal("1e-14")  # relative: what a hundred float additions leave behind
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)

_TEXT: Final = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]{1,9})")
_BAD_FORM: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BAD_SUFFIX: Final = "unable to parse quantity's suffix"


def write(value: float) -> str:
    """`value` as a canonical Quantity: 83.5 → "83500m", 1000 → "1k", 0.0005 → "500u", 1e25 → "10e24".

    From 1m on, in either direction, it is rounded up (towards +∞) to a whole thousandth; nearer to 0, to a whole
    billionth. A number that misses such a step by no more than 1e-14 of itself is that step: 0.1 + 0.2 is "300m".
    The number is the shortest decimal that names the float, so 2.675 is "2675m". Raises ValueError for NaN and ±Inf.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as a quantity; withhold it instead")
    exact = Decimal(repr(value))
    exponent = _NANO if abs(exact) < Decimal("0.001") else _MILLI
    return _canonical(_rounded_up(exact.scaleb(-exponent)), exponent)


def read(text: str) -> Decimal:
    """The exact number that `text` means, of the whole Quantity grammar: "83500m", "1.5Gi", "1e3", ".5", "+7".

    As in Kubernetes, what is finer than 1n is rounded away from 0, and a binary quantity is capped at 2^63 − 1. Raises
    ValueError in its words; narrower than its code, but as its grammar says, a number needs a digit ("-" is not 0), and
    an exponent has at most nine of them (Kubernetes lets larger ones wrap around).
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(_BAD_FORM)
    number, suffix = Decimal(found[1]), found[2]
    if suffix in _BINARY:
        number = _EXACT.multiply(number, _BINARY[suffix])
        return min(_to_nano(number).copy_abs(), _LARGEST_BINARY).copy_sign(number)
    return _to_nano(_EXACT.scaleb(number, _decimal_exponent(suffix)))


def _rounded_up(steps: Decimal) -> int:
    nearest = steps.to_integral_value(ROUND_HALF_EVEN)
    if abs(steps - nearest) <= _NOISE * abs(steps):
        return int(nearest)
    return int(steps.to_integral_value(ROUND_CEILING))


def _canonical(mantissa: int, exponent: int) -> str:
    if mantissa == 0:
        return "0"
    while mantissa % 1000 == 0:
        mantissa, exponent = mantissa // 1000, exponent + 3
    return f"{mantissa}{_SUFFIXES.get(exponent, f'e{exponent}')}"


def _decimal_exponent(suffix: str) -> int:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    found = _EXPONENT.fullmatch(suffix)
    if found is None:
        raise ValueError(_BAD_SUFFIX)
    return int(found[1])


def _to_nano(number: Decimal) -> Decimal:
    exponent = number.as_tuple().exponent
    fine = isinstance(exponent, int) and exponent < _NANO
    return number.quantize(Decimal("1e-9"), ROUND_UP, _EXACT) if fine else number
