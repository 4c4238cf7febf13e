import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explaining.md"


def test_the_python_of_the_page_runs_and_prints_what_it_says():
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test).failed == 0
