"""YAML text → nodes with line numbers, by YAML 1.2's core schema.

What YAML 1.1 guesses stays text (`on`, `12:30`, `0755`). Aliases and tags are refused: the one can make a small file
huge, the other changes what a value is.
"""

import re
from typing import Any, Final, NoReturn

import yaml

from adapter.core.errors import ConfigError, Fault

MAX_BYTES: Final = 1 << 20  # what a ConfigMap can hold


class _Loader(yaml.SafeLoader):
    """YAML 1.2's core schema: null, true and false, plain numbers; all else is text. No aliases, no tags."""

    yaml_implicit_resolvers: Final = {}  # type: ignore[misc]

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            _stop(line, f"*{event.anchor}: aliases are not read; write the value out")
        if event.tag is not None:
            _stop(line, f"{event.tag}: tags are not read; put quotes around what is to be text")
        return super().compose_node(parent, index)


def _resolve(tag: str, pattern: str, first: str) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


_resolve("null", r"^(?:~|null|)$", "~n")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^$"), [""])
_resolve("bool", r"^(?:true|false)$", "tf")
_resolve("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789")
_resolve("float", r"^[-+]?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?$", "-+0123456789")


def compose(content: bytes) -> yaml.Node | None:
    """The only document of a file; None where it is empty.

    Raises ConfigError with one fault: too large, no UTF-8, no YAML, nested too deep, several documents, aliases, tags.
    """
    if len(content) > MAX_BYTES:
        _stop(0, f"has {len(content)} bytes; at most {MAX_BYTES} are read")
    try:
        return _composed(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        _stop(content[: error.start].count(b"\n") + 1, "is not UTF-8")


def _composed(text: str) -> yaml.Node | None:
    """The one place where PyYAML's exceptions become ours."""
    line = 1
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_node()
        finally:
            line = loader.line + 1
    except yaml.reader.ReaderError as error:
        _stop(text[: error.position].count("\n") + 1, "is not YAML: it holds a character that cannot be printed")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        _stop(mark.line + 1 if mark else line, f"is not YAML: {error.problem or error.context}")
    except RecursionError:
        _stop(line, "is nested too deep")
    except (yaml.YAMLError, ValueError, OverflowError):
        _stop(line, "is not YAML: an escape in it names no character, or %YAML no version")


def _stop(line: int, text: str) -> NoReturn:
    raise ConfigError([Fault(line, "", text)])


def is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")
