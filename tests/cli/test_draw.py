import pytest

from listing import names


@pytest.mark.parametrize(("ending", "begin"), [("svg", "<svg"), ("dot", "digraph")])
def test_draw_writes_a_picture(extracted, run, ending, begin):
    text = run("draw", "run", "-o", f"wa.{ending}", "--rank", "3", "--threshold", "0.1")
    assert f"\n{begin} " in "\n" + (extracted / f"wa.{ending}").read_text("utf-8")
    assert f"wa.{ending}: 3 states; transitions below 0.1 are hidden" in text


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["machine.json", "-o", "wa.png"], "wa.png ends in none of .svg .dot"),
        (2, ["machine.json", "-o", "wa"], "wa ends in none of .svg .dot"),
        (2, ["machine.json", "-o", "missing/wa.svg"], "there is no folder missing to put it in"),
        (2, ["machine.json", "-o", "folder.svg"], "is a directory"),
        (2, ["machine.json", "-o", "wa.svg", "--rank", "0"], "--rank"),
        (2, ["machine.json", "-o", "wa.svg", "--rank", "two"], "--rank"),
        (2, ["run", "-o", "wa.svg", "--rank", "5"], "rank 5 is outside 1 … 4"),
        (2, ["machine.json", "-o", "wa.svg", "--threshold", "-1"], "--threshold"),
        (2, ["missing.json", "-o", "wa.svg"], "missing.json: there is no such file or folder"),
        (2, ["wa:missing", "-o", "wa.svg"], "missing: there is no such file or folder"),
        (1, ["words.txt", "-o", "wa.svg"], "words.txt"),
        (1, ["cut.json", "-o", "wa.svg"], "cut.json: not a seqray automaton, or damaged"),
    ],
)
def test_draw_that_fails_leaves_nothing(extracted, fails, code, arguments, message):
    folder = extracted
    (folder / "folder.svg").mkdir()
    (folder / "cut.json").write_text((folder / "machine.json").read_text()[:99])
    before = names(folder)
    assert message in fails(code, "draw", *arguments)
    assert names(folder) == before
