"""A YAML file read strictly: every fault is found, each with its path and line, before anything is refused.

What YAML 1.1 guesses stays text (`on`, `12:30`, `0755`). A key given twice, or one that nobody asks for, is a fault: a
typing error must not become a default.
"""

import difflib
import math
import re
from collections.abc import Sequence
from typing import Final, NoReturn, TypeVar

import yaml

from adapter.core.errors import ConfigError, Fault

MAX_BYTES: Final = 1 << 20
_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
_SIZE: Final = re.compile(r"(\d+)(Ki|Mi|Gi|)")
_SIZES: Final = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}

D = TypeVar("D")


class _Loader(yaml.SafeLoader):
    """YAML 1.2's core schema: null, true and false, plain numbers; all else is text."""

    yaml_implicit_resolvers: Final = {}  # type: ignore[misc]


def _resolve(tag: str, pattern: str, first: str) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


_resolve("null", r"^(?:~|null|)$", "~n")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^$"), [""])
_resolve("bool", r"^(?:true|false)$", "tf")
_resolve("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789")
_resolve("float", r"^[-+]?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?$", "-+0123456789")


def document(content: bytes) -> "Section":
    """The file's top level; faults found later collect in it, and `refuse` raises them.

    Raises ConfigError at once where it cannot be read: too large, no UTF-8, no YAML, several documents, aliases.
    """
    if len(content) > MAX_BYTES:
        _stop(0, f"has {len(content)} bytes; at most {MAX_BYTES} are read")
    try:
        text = content.decode("utf-8")
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1 if event.start_mark else 0
                _stop(line, f"*{event.anchor}: aliases are not read; write the value out")
        node = yaml.compose(text, Loader=_Loader)
    except UnicodeDecodeError as error:
        _stop(content[: error.start].count(b"\n") + 1, "is not UTF-8")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        _stop(mark.line + 1 if mark else 0, f"is not YAML: {error.problem or error.context}")
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        _stop(0, f"is not YAML: {str(error).splitlines()[0] if str(error) else 'nested too deep'}")
    faults: list[Fault] = []
    if node is None or _is_null(node):
        return Section(None, "", 1, faults)
    return Section(node, "", node.start_mark.line + 1, faults)


def _stop(line: int, text: str) -> NoReturn:
    raise ConfigError([Fault(line, "", text)])


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

    def text(self, default: D) -> str | D:
        if not isinstance(self._node, yaml.ScalarNode) or _is_null(self._node):
            self.fault("must be text")
            return default
        return str(self._node.value)

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
        if value <= 0:
            self.fault("must be longer than 0")
            return default
        return value

    def size(self, default: D) -> int | D:
        """Bytes, as `8Mi` or a whole number."""
        match = _SIZE.fullmatch(self._node.value) if isinstance(self._node, yaml.ScalarNode) else None
        if match is None or int(match[1]) == 0:
            self.fault("must be a size such as 8Mi or a number of bytes")
            return default
        return int(match[1]) * _SIZES[match[2]]

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
        return None if item is None or _is_null(item._node) else item  # noqa: SLF001 - one module, one idea

    def section(self, key: str) -> "Section":
        item = self.get(key)
        return item.section() if item else Section(None, f"{self.path}.{key}".lstrip("."), self.line, self._faults)

    def keys(self) -> list[str]:
        return list(self._items)

    def fault(self, text: str) -> None:
        self._faults.append(Fault(self.line, self.path, text))

    def fault_at(self, line: int, path: str, text: str) -> None:
        """A fault elsewhere in the same document."""
        self._faults.append(Fault(line, path, text))

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


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")
