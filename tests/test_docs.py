"""The docs cannot fall behind: every reason is explained."""

import re
from pathlib import Path

from adapter.core.points import Reason

ROOT = Path(__file__).parent.parent


def test_every_reason_is_explained_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/reasons.md").read_text(), re.MULTILINE)
    assert rows == [reason.value for reason in Reason]


def test_links_of_the_readme_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []
