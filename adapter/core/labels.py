"""What Kubernetes takes as a label's key and value, and how it words a refusal.

Law: a key or value is faultless here exactly when Kubernetes accepts it, and the faults are its own words.
Facts: k8s.io/apimachinery v0.37, pkg/api/validate/content (IsLabelKey, IsLabelValue), pkg/util/validation/field.
"""

import re
from typing import Final

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_NAME})?"
_DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_NAME_FAULT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_FAULT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_SUBDOMAIN_FAULT: Final = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LONGEST_NAME: Final = 63
_LONGEST_PREFIX: Final = 253
# Go's %q has a letter for these; \n, \r and \t too, but they part tokens and so never reach a message.
_LETTERS: Final = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}


def key_faults(key: str) -> list[str]:
    """Why `key` is no label key (`name` or `subdomain/name`); empty if it is one."""
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_NAME_FAULT} {hint}"]
    faults = [fault for prefix in prefixes for fault in _prefix_faults(prefix)]
    faults += _too_long(name, _LONGEST_NAME, "name part ") if name else ["name part must be non-empty"]
    return faults if re.fullmatch(_NAME, name) else [*faults, f"name part {_NAME_FAULT}"]


def value_faults(value: str) -> list[str]:
    """Why `value` is no label value; empty if it is one, as the empty text is."""
    faults = _too_long(value, _LONGEST_NAME)
    return faults if re.fullmatch(_VALUE, value) else [*faults, _VALUE_FAULT]


def invalid(path: str, value: str, detail: str) -> str:
    """The sentence of `field.Invalid`: where, what stood there (as Go's %q quotes it), and what is wrong with it."""
    return f'{path}: Invalid value: "{"".join(map(_quoted, value))}": {detail}'


def _prefix_faults(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    faults = _too_long(prefix, _LONGEST_PREFIX, "prefix part ")
    return faults if re.fullmatch(_SUBDOMAIN, prefix) else [*faults, _SUBDOMAIN_FAULT]


def _too_long(text: str, limit: int, part: str = "") -> list[str]:
    size = len(text.encode(errors="surrogatepass"))
    return [f"{part}must be no more than {limit} bytes"] if size > limit else []


def _quoted(character: str) -> str:
    if character in _LETTERS:
        return _LETTERS[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
