"""The page that explains the structure and the contracts that hold it say the same."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/architecture.md").read_text()


def test_layers_on_the_page_are_the_layers_that_are_held() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert "\n".join(layers) in PAGE


def test_every_module_stands_in_a_layer() -> None:
    modules = {path.stem for path in (ROOT / "adapter").iterdir() if not path.name.startswith(("_", "."))}
    assert {module for module in modules - {"py"} if f"adapter.{module}" not in PAGE} == set()


def test_every_file_that_the_page_names_exists() -> None:
    named = {word for word in PAGE.replace("`", " ").replace(",", " ").split() if word.endswith(".py")}
    assert {name for name in named if not (ROOT / "adapter" / name).exists()} == set()
