"""A YAML file read strictly: every fault is found, each with its path and line, before anything is refused.

A key given twice, or one that nobody asks for, is a fault: a typing error must not become a default.
"""

import difflib
import math
import re
from collections.abc import Sequence
from typing import Final, TypeVar

import yaml

from adapter.core.errors import ConfigError, Fault
from adapter.core.yaml_nodes import compose, is_null

MAX_DURATION: Final = 7 * 86400.0  # seconds; more is a typing error
MAX_SIZE: Final = 1 << 30  # bytes
_DURATION: Final = re.compile(
    r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)s)?(?:([0-9]{1,9})ms)?"
)
_SIZE: Final = re.compile(r"([0-9]{1,12})(Ki|Mi|Gi|)")
_SIZES: Final = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

D = TypeVar("D")


def document(content: bytes) -> "Section":
    """The file's top level; faults found later collect in it, and `refuse` raises them.

    Raises ConfigError at once where it cannot be read.
    """
    node = compose(content)
    faults: list[Fault] = []
    if node is None or is_null(node):
        return Section(None, "", 1, faults)
    return Section(node, "", node.start_mark.line + 1, faults)


class Item:
    """One value somewhere in the file: where it stands, and what it can be read as."""

    def __init__(self, node: yaml.Node, path: str, faults: list[Fault]) -> None:
        self._node = node
        self._faults = faults
        self.path = path
        self.line = node.start_mark.line + 1

    def fault(self, text: str) -> None:
        self._faults.append(Fault(self.line, self.path, text))

    @property
    def is_mapping(self) -> bool:
        return isinstance(self._node, yaml.MappingNode)

    @property
    def is_list(self) -> bool:
        return isinstance(self._node, yaml.SequenceNode)

    @property
    def is_auto(self) -> bool:
        return isinstance(self._node, yaml.ScalarNode) and self._node.value == "auto"

    def text(self, default: D, *, lines: bool = False, empty: bool = False) -> str | D:
        """Characters as they stand, numbers too. lines: may have several; empty: may have none."""
        value = self._node.value
        if not isinstance(value, str) or is_null(self._node):
            self.fault("must be text")
        elif not value and not empty:
            self.fault("is empty")
        elif _UNPRINTABLE.search(re.sub(r"[\n\t]", "", value) if lines else value):
            self.fault("holds a control character" if lines else "must be one line without control characters")
        else:
            return value
        return default

    def section(self) -> "Section":
        if not self.is_mapping:
            self.fault("must be a mapping of keys to values")
            return Section(None, self.path, self.line, self._faults)
        return Section(self._node, self.path, self.line, self._faults)

    def items(self) -> list["Item"]:
        if not isinstance(self._node, yaml.SequenceNode):
            self.fault("must be a list")
            return []
        return [Item(node, f"{self.path}[{i}]", self._faults) for i, node in enumerate(self._node.value)]

    def number(self, default: D, low: float, high: float) -> float | D:
        plain = isinstance(self._node, yaml.ScalarNode) and self._node.tag.endswith((":int", ":float"))
        try:
            value = float(self._node.value) if plain else float("nan")
        except ValueError:
            value = float("nan")  # a number only by its own word, as in `!!int x`
        if math.isnan(value):
            self.fault(f"must be a number from {low:g} to {high:g}")
            return default
        if not low <= value <= high:
            self.fault(f"{value:g} is not from {low:g} to {high:g}")
            return default
        return value

    def flag(self, default: D) -> bool | D:
        if not self._node.tag.endswith(":bool"):
            self.fault("must be true or false")
            return default
        return bool(self._node.value == "true")

    def duration(self, default: D) -> float | D:
        """Seconds of a duration as Prometheus writes them: `15s`, `1m30s`, `500ms`."""
        text = self._node.value if isinstance(self._node, yaml.ScalarNode) else ""
        match = _DURATION.fullmatch(text)
        if not text or match is None:
            self.fault("must be a duration such as 15s, 1m30s or 500ms")
            return default
        days, hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
        value = days * 86400 + hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
        if not 0 < value <= MAX_DURATION:
            self.fault(f"must be longer than 0 and at most {MAX_DURATION / 86400:g}d")
            return default
        return value

    def size(self, default: D) -> int | D:
        """Bytes, as `8Mi` or a whole number."""
        match = _SIZE.fullmatch(self._node.value) if isinstance(self._node, yaml.ScalarNode) else None
        value = int(match[1]) * _SIZES[match[2]] if match else 0
        if not 0 < value <= MAX_SIZE:
            self.fault("must be a size such as 8Mi or a number of bytes, at most 1Gi")
            return default
        return value

    def choice(self, options: Sequence[str], default: D) -> str | D:
        text = self._node.value if isinstance(self._node, yaml.ScalarNode) else ""
        if text not in options:
            self.fault(f"must be one of {', '.join(options)}")
            return default
        return str(text)


class Section:
    """A mapping. Every key that is read is known; `close` makes the others faults."""

    def __init__(self, node: yaml.Node | None, path: str, line: int, faults: list[Fault]) -> None:
        self._faults = faults
        self._asked: set[str] = set()
        self._items: dict[str, Item] = {}
        self.path = path
        self.line = line
        if node is not None and not isinstance(node, yaml.MappingNode):
            faults.append(Fault(line, path, "must be a mapping of keys to values"))
        elif node is not None:
            self._read(node)

    def _read(self, node: yaml.MappingNode) -> None:
        for key_node, value in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            path = f"{self.path}.{key}" if self.path else key
            if key in self._items:
                line, first = key_node.start_mark.line + 1, self._items[key].line
                self._faults.append(Fault(line, path, f"is given twice, first in line {first}"))
            else:
                self._items[key] = Item(value, path, self._faults)
                self._items[key].line = key_node.start_mark.line + 1

    def get(self, key: str) -> Item | None:
        """The value under a key; None where it is absent or null."""
        self._asked.add(key)
        item = self._items.get(key)
        return None if item is None or is_null(item._node) else item  # noqa: SLF001 - one module, one idea

    def section(self, key: str) -> "Section":
        item = self.get(key)
        return item.section() if item else Section(None, f"{self.path}.{key}".lstrip("."), self.line, self._faults)

    def keys(self) -> list[str]:
        return list(self._items)

    def fault(self, text: str) -> None:
        self._faults.append(Fault(self.line, self.path, text))

    def fault_on(self, key: str, text: str) -> None:
        """A fault of one key, or of the section where it lacks it."""
        if key in self._items:
            self._items[key].fault(text)
        else:
            self.fault(f"{key}: {text}")

    def close(self) -> None:
        """Keys that nobody has asked for are faults."""
        for key in self._items.keys() - self._asked:
            near = difflib.get_close_matches(key, self._asked, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(sorted(self._asked))}"
            self._items[key].fault(f"unknown key{hint}")

    def refuse(self) -> None:
        """Raises ConfigError with every fault of the document, if there is any."""
        if self._faults:
            raise ConfigError(self._faults)
