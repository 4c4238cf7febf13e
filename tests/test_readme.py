import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def test_the_python_of_the_readme_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert code is not None
    exec(code[1], {})
    assert "relative_error" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8"))
    broken = [at for at in links if "://" not in at and not (page.parent / at).exists()]
    assert broken == []


def test_files_that_newcomers_are_sent_to_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    paths = re.findall(r"`((?:src|tests|examples|docs)/[\w/.]+)`", text)
    named = [path for path in paths if not re.search(r"NAME|ROOM|MODULE", path)]
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
