"""The page of results: what was run, tables and figures, and where the paper is met or not.

Every figure on it comes from a folder of results; what is missing there is said, not left out.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from seqray.blackbox.registry import open_black_box
from seqray.draw.svg import to_svg
from seqray.experiments import paper
from seqray.experiments.figures import DRAWINGS
from seqray.experiments.findings import SUITES, Findings, read_findings, title_of
from seqray.experiments.own import bars, own_summary_table, own_table, questions_text
from seqray.experiments.own_figures import OWN_DRAWINGS
from seqray.experiments.plots import Drawing, NothingToDrawError, draw, save_figure
from seqray.experiments.statements import apart, listed, statements
from seqray.experiments.table import AUTO, PAPER, SETS, Result, best, choose, problem_order
from seqray.experiments.tables import (
    best_table,
    boxes_table,
    distilled_table,
    markdown,
    number,
    other_table,
    summary_table,
)
from seqray.extraction.extract import extract
from seqray.formats.words_file import PathLike
from seqray.util.errors import FileError
from seqray.util.files import writing

PREFIX = "experiments-"
"""How the names of the figures' files begin."""
Ranks: TypeAlias = dict[tuple[str, int, str], set[int]]
"""The ranks that are there, by problem, size of basis and set of words."""
SMALL_BLOCK = "the block has no more than rank"
"""How the sweep notes that a block has fewer ranks than were asked for."""
THRESHOLD = 0.05
"""Transitions with a smaller weight are not drawn, as in the paper."""


@dataclass(frozen=True)
class Report:
    """What a report wrote.

    Examples
    --------
    >>> Report(Path("docs/experiments.md"), ("overview",), {"basis": "no results"}).missing
    {'basis': 'no results'}
    """

    page: Path
    figures: tuple[str, ...]
    missing: Mapping[str, str]
    """The figures that could not be made, and why."""


def write_report(
    results: PathLike,
    output: PathLike,
    images: PathLike,
    *,
    boxes: PathLike | None = None,
) -> Report:
    """Make the page of results and its figures from a folder of results.

    Parameters
    ----------
    results
        What ``seqray bench`` wrote.
    output
        The page, a Markdown file; its folder must be there.
    images
        The folder of the figures; it is made if need be.
    boxes
        The folder of networks: one automaton is extracted anew, to be drawn, and ``trained.csv``
        says how they were trained. Without it both are left out, and the page says so.
    """
    found = read_findings(results, boxes=boxes)
    page, folder = Path(output), Path(images)
    if not page.absolute().parent.is_dir():
        raise FileError(f"{page}: there is no folder {page.parent} to put it in")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {error.strerror or error}") from error
    missing: dict[str, str] = {}
    drawings = (*OWN_DRAWINGS, *DRAWINGS)
    for drawing in drawings:
        try:
            save_figure(draw(drawing, found), folder, PREFIX + drawing.name)
        except NothingToDrawError as gap:
            missing[drawing.name] = str(gap)
    if reason := _draw_automaton(boxes, folder / f"{PREFIX}automaton.svg"):
        missing["automaton"] = reason
    link = Path(os.path.relpath(folder.absolute(), page.absolute().parent)).as_posix()
    with writing(page) as fresh:
        fresh.write_text(page_text(found, link, missing), "utf-8")
    names = [drawing.name for drawing in drawings] + ["automaton"]
    return Report(page, tuple(name for name in names if name not in missing), missing)


def page_text(found: Findings, images: str, missing: Mapping[str, str]) -> str:
    """Return the page.

    Parameters
    ----------
    found
        The results.
    images
        Where the figures are, as seen from the page.
    missing
        The figures that are not there, and why.

    Examples
    --------
    >>> print(page_text(Findings([]), "images", {}).splitlines()[0])
    # The paper's experiments, repeated
    """
    parts = [
        "# The paper's experiments, repeated",
        f"{paper.SOURCE}, with seqray: its method (raw blocks, a basis of uniform words), its "
        "data, its sizes of basis and ranks; networks of its architecture, trained anew. Beside it "
        "stands seqray's own method on the same networks; all that is not said to be its own is by "
        "the paper's. This page is made by `seqray report`; every figure on it is computed from "
        "the tables of results.",
        _what_was_run(found),
        *_own_method(found, images, missing),
        "## In a few figures",
        "The paper's method again, over all problems that the paper's tables have as well. *best*: "
        "rank and basis picked on "
        "the evaluation words themselves, for each metric by itself, as the paper does. "
        "*held-out*: the rank chosen on other words drawn from the network, at the largest basis; "
        "nothing is picked on the evaluation words. The best ratio is the largest; zeros, weights "
        "that are not positive, are those at the best ratio.",
        summary_table(found),
        _with_all(found),
        "## Does it say what the paper says?",
        _agreement(found),
        _differences(found),
        "## Figures",
        *_figures(DRAWINGS, images, missing),
        *_automaton(images, missing),
        "## Best parameters",
        "Best perplexity ratio with the share of weights that are not positive there, best NDCG₅, "
        "and both at the rank chosen on held-out words (largest basis). On S_test the ratio is "
        "Perp(target, RNN) / Perp(target, WA), on S_RNN Perp(RNN, RNN) / Perp(RNN, WA). "
        "\\* The training words of problem 22 are not the official ones: they were drawn anew "
        "from its published machine.",
    ]
    for which in SETS:
        parts += [f"### PAutomaC on {SETS[which]}", best_table(found, which)]
    if any(not row.problem.isdecimal() for row in found.rows):
        parts += ["### Real data", "There is no target: both ratios are to the RNN."]
        parts += [other_table(found)]
    if found.distilled:
        parts += [
            "## The automaton in the network's place",
            "Medians over the problems: processor time for the weight of a test word, all words "
            "asked about *together* (so that words share what they have in common) or each "
            "*alone*, and the size of the model.",
            distilled_table(found),
        ]
    if found.boxes:
        parts += ["## The networks", _networks(found), boxes_table(found)]
    parts += ["## What is missing", _holes(found, missing)]
    return "\n\n".join(map(_wrapped, parts)) + "\n"


# Parts of the page --------------------------------------------------------------------------------


def _what_was_run(found: Findings) -> str:
    lines = []
    for suite in found.about:
        for rows, own in ((found.rows, False), (found.own, True)):
            plain = choose(rows, problem=SUITES[suite], selection="all")
            if plain or not own:
                lines.append(_run_line(suite, found.about[suite], plain, own))
    header = ["table", "problems", "bases", "longest word of a basis", "ranks", "rows"]
    header += ["minutes, all", "longest problem"]
    texts = ["## What was run", markdown(header, lines), *_versions(found)]
    return "\n\n".join(texts)


def _run_line(suite: str, about: Mapping[str, Any], rows: Sequence[Result], own: bool) -> list[str]:
    """Say in a line what one method was run on."""
    sizes = sorted({row.prefixes for row in rows})
    spent = [sum(phases.values()) for phases in _phases(about, own=own).values()]
    contexts = f"{_between(sizes)} contexts" if own else ", ".join(map(str, sizes))
    return [
        f"{suite}, seqray's own method" if own else suite,
        f"{len({row.problem for row in rows})} of {len(SUITES[suite])}",
        contexts or "–",
        "–" if own else _longest(about),
        _span(row.rank for row in rows),
        f"{len(rows):,}",
        f"{sum(spent) / 60:.0f}" if spent else "–",
        f"{max(spent) / 60:.1f}" if spent else "–",
    ]


def _phases(about: Mapping[str, Any], *, own: bool) -> dict[str, dict[str, float]]:
    """Return the seconds of one method by problem and phase."""
    mark = f"{AUTO}_"
    found: dict[str, dict[str, float]] = {}
    for problem, spent in about.get("seconds", {}).items():
        its = {name: taken for name, taken in spent.items() if name.startswith(mark) == own}
        if its:
            found[problem] = {name.removeprefix(mark): taken for name, taken in its.items()}
    return found


def _longest(about: Mapping[str, Any]) -> str:
    """Say how long the words of a basis may be."""
    if "settings" not in about:
        return "–"
    longest = about["settings"].get("max_length")
    return "default" if longest is None else str(longest)


def _versions(found: Findings) -> list[str]:
    """Say with what it was run, and how the time went."""
    about = next((one for one in found.about.values() if one.get("seqray")), None)
    if about is None:
        return []
    settings = about.get("settings", {})
    by_phase = [f"Processor time by phase: {_shares(found, own=False)}"]
    if ours := _shares(found, own=True):
        by_phase.append(f"of seqray's own method: {ours}")
    return [
        f"seqray {about['seqray']}, Python {about['python']}, NumPy {about['numpy']}, "
        f"{', '.join(about.get('blas', []))}, on {about['processor']}; seed "
        f"{settings.get('seed', '–')}, {settings.get('n_rnn', '–')} words drawn from each network "
        f"as S_RNN, {settings.get('n_held_out', '–')} others to choose ranks on. "
        f"{'; '.join(by_phase)}."
    ]


def _shares(found: Findings, *, own: bool) -> str:
    """Say which shares of the time of a method its phases take, the longest first."""
    phases: dict[str, float] = {}
    for about in found.about.values():
        for spent in _phases(about, own=own).values():
            for phase, seconds in spent.items():
                phases[phase] = phases.get(phase, 0.0) + seconds
    total = sum(phases.values()) or 1.0
    shares = sorted(phases.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in shares)


def _own_method(found: Findings, images: str, missing: Mapping[str, str]) -> Iterable[str]:
    """Say what seqray's own method reaches."""
    yield "## seqray's own method"
    if not found.own:
        yield "It was not run: `seqray bench --method auto` adds it to the same results."
        return
    yield (
        "What `seqray.extract` does by itself: it draws words from the network, asks how their "
        "contexts go on, and takes the automaton of these conditional blocks or one whose weights "
        "are probabilities, fitted to them. It chooses its rank on words that it holds out: nothing is "
        "picked on the evaluation words. Beside it stand, over the problems that all of them have, "
        "the paper's published values and the paper's method on the same networks as ours. *best*: "
        "rank and basis picked on the evaluation words, for each metric by itself, as all that is "
        "published; *held-out*: the rank chosen on other words, at the largest basis. A step is "
        "the network reading one symbol; those for the words that ranks are chosen on are not "
        "counted, for either method."
    )
    yield own_summary_table(found)
    judged = bars(found)
    if judged:
        n_holding = sum(bar.holds for bar in judged)
        yield (
            f"Of {len(judged)} bars, {n_holding} hold. *The paper's* are its published values, of "
            "networks that are not ours."
        )
        yield _judged(["bar", "here", "holds"], judged)
    yield questions_text(found)
    yield from _figures(OWN_DRAWINGS, images, missing)
    yield "### Each problem"
    yield (
        "The first four columns are NDCG₅, the paper's and its method's here at their best. Own: "
        "all at the rank chosen on held-out words; *of 800 × 800* is the share of the steps that "
        "the paper's method takes there."
    )
    yield own_table(found)


def _with_all(found: Findings) -> str:
    """Say how it is with the problems that the paper leaves out."""
    more = {row.problem for row in found.pautomac("test")} - set(paper.paper_problems())
    if not more:
        return "The paper's tables have all of these problems."
    means = []
    for which in SETS:
        gains = [row.ndcg5 for row in best(found.pautomac(which), "ndcg5").values()]
        means.append(f"{number(sum(gains) / len(gains))} on {SETS[which]}")
    whom = f"With problem {listed(more)}, which the paper leaves out"
    return f"{whom}, mean NDCG₅ is {', '.join(means)}."


def _agreement(found: Findings) -> str:
    return _judged(["the paper", "here", "agrees"], statements(found))


def _judged(header: Sequence[str], verdicts: Iterable[tuple[str, str, bool | None]]) -> str:
    """Return a table of what should be, what is, and whether that is the same."""
    marks = {True: "yes", False: "**no**", None: "–"}
    table = markdown(header, [[wanted, seen, marks[same]] for wanted, seen, same in verdicts])
    return table.replace("| --- | ---: | ---: |", "| --- | --- | --- |")


def _differences(found: Findings) -> str:
    lines = []
    for which in SETS:
        above, below = apart(found, which)
        lines.append(
            f"- {SETS[which]}: our best NDCG₅ is more than 0.05 above the paper's on "
            f"{len(above)} problems ({listed(above)}), and as much below on {len(below)} "
            f"({listed(below)})."
        )
    return "\n".join(
        [
            *lines,
            "",
            "What can be compared, and what cannot: data, target machines, metrics and the method "
            "are the paper's, so a metric of an automaton against *its* network means the same "
            "here and there. The networks are not the same. The paper's are not published, and an "
            "automaton is asked to follow its network where that is wrong too: a network that has "
            "learnt a problem better may be easier to follow, or harder. The paper also does not "
            "say how long the words of its uniform bases are, nor how its next-symbol "
            "probabilities treat negative weights. Differences on single problems therefore say "
            "little; the shape of the results over all of them does.",
        ]
    )


def _figures(drawings: Iterable[Drawing], images: str, missing: Mapping[str, str]) -> Iterable[str]:
    for drawing in drawings:
        if drawing.name not in missing:
            yield f"![{drawing.part}]({images}/{PREFIX}{drawing.name}.svg)"
            yield f"*{drawing.part}.* {drawing.caption}"


def _automaton(images: str, missing: Mapping[str, str]) -> Iterable[str]:
    if "automaton" not in missing:
        yield f"![An automaton of five states]({images}/{PREFIX}automaton.svg)"
        yield (
            f"*Appendix, an extracted WA.* Problem {paper.DRAWN.problem} at rank "
            f"{paper.DRAWN.rank}, basis {paper.DRAWN.basis}: input weight > output weight "
            f"in each state, transitions below {THRESHOLD} hidden, as in the paper."
        )


def _networks(found: Findings) -> str:
    good = [box for box in found.boxes.values() if box.quality >= 0.9]
    known = [box for box in found.boxes.values() if box.quality == box.quality]
    mean = sum(box.quality for box in known) / len(known) if known else float("nan")
    return (
        "The size and epoch with the best cross-entropy on held-out words were kept. *target / "
        "RNN* is Perp(target, target) / Perp(target, RNN) on S_test: 1 would be a network that is "
        f"its target. It is 0.9 or more on {len(good)} of {len(known)} problems, {number(mean)} "
        "on average."
    )


def _holes(found: Findings, missing: Mapping[str, str]) -> str:
    lines = [
        f"The table `{suite}.csv.gz` is not in the results."
        for suite in SUITES
        if suite not in found.about
    ]
    for suite, about in found.about.items():
        lines += [f"{title_of(name)}: {why}." for name, why in about.get("holes", {}).items()]
        lines += [f"{suite} {name} failed: {why}." for name, why in about.get("failed", {}).items()]
        lines += _absent(found, suite)
        for name, notes in about.get("notes", {}).items():
            # That a block has a small rank is said with the ranks that are missing for it.
            others = [note for note in dict.fromkeys(notes) if not note.startswith(SMALL_BLOCK)]
            lines += [f"{suite} {name}: {note}." for note in others]
    lines += [f"Figure {name}: {why}." for name, why in missing.items()]
    whole = "Nothing: every problem, basis, rank and set is there."
    return "\n".join(f"- {line}" for line in lines) or whole


def _absent(found: Findings, suite: str) -> list[str]:
    """Say which problems, bases and ranks a table lacks, and whether that is explained."""
    about = found.about[suite]
    ranks: Ranks = {}
    for row in choose(found.rows, problem=SUITES[suite], selection="all"):
        ranks.setdefault((row.problem, row.prefixes, row.set), set()).add(row.rank)
    known = {*about.get("holes", {}), *(problem for problem, _, _ in ranks)}
    gone = [problem for problem in SUITES[suite] if problem not in known]
    lines = [f"no rows of {listed(gone)}"] if gone else []
    known -= {*about.get("holes", {}), *(row.problem for row in found.own)}
    if known:
        lines.append(f"no rows of seqray's own method of {listed(known)}")
    notes = about.get("notes", {})
    for size in paper.BASES:
        none, small, odd = _lacking(ranks, size, notes)
        if none:
            lines.append(f"no basis of {size} on {', '.join(none)}")
        if small:
            lines.append(
                f"at a basis of {size} the block itself has a rank below {max(paper.RANKS)}, and "
                f"no further ranks exist, on {', '.join(small)}"
            )
        if odd:
            lines.append(
                f"at a basis of {size} ranks are missing, unexplained, on {', '.join(odd)} "
                "(in brackets the largest that is there)"
            )
    return [f"{suite}: {line}." for line in lines]


def _lacking(
    ranks: Ranks, size: int, notes: Mapping[str, list[str]]
) -> tuple[list[str], list[str], list[str]]:
    """Return problems without a basis, with a block of small rank, and with other gaps."""
    none: list[str] = []
    small: list[str] = []
    odd: list[str] = []
    for problem in sorted({problem for problem, _, _ in ranks}, key=problem_order):
        both = [ranks.get((problem, size, which), set()) for which in SETS]
        last = max(both[0] | both[1], default=0)
        if not last:
            none.append(problem)
        elif both != [set(paper.RANKS)] * 2:
            whole = both == [set(range(1, last + 1))] * 2
            noted = f"{SMALL_BLOCK} {last}" in notes.get(f"{problem}-{size}", [])
            (small if whole and noted else odd).append(f"{problem} ({last})")
    return none, small, odd


def _draw_automaton(boxes: PathLike | None, path: Path) -> str:
    """Extract and draw the automaton that the paper draws; return why not, if not."""
    if boxes is None:
        return "the folder of networks was not named"
    problem, basis, rank = paper.DRAWN[:3]
    network = Path(boxes, f"{problem}.safetensors")
    if not network.is_file():
        return f"there is no network {network.name}"
    box = open_black_box(f"rnn:{network}")
    found = extract(box, n_prefixes=basis, n_suffixes=basis, max_rank=rank, method=PAPER)
    automaton = found.automaton(rank)
    with writing(path) as fresh:
        fresh.write_text(to_svg(automaton, threshold=THRESHOLD), "utf-8")
    return ""


def _wrapped(part: str) -> str:
    """Break the lines of plain paragraphs; tables, links to figures and titles stay as they are."""
    blocks = part.split("\n\n")
    return "\n\n".join(
        block if block.startswith(("|", "!", "#")) else "\n".join(map(_filled, block.split("\n")))
        for block in blocks
    )


def _filled(line: str) -> str:
    return textwrap.fill(
        line,
        110,
        subsequent_indent="  " if line.startswith("- ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _between(numbers: Sequence[int]) -> str:
    return " to ".join(f"{end:,}" for end in dict.fromkeys((numbers[0], numbers[-1])))


def _span(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    if not found:
        return "–"
    whole = len(found) == found[-1] - found[0] + 1
    return f"{found[0]}–{found[-1]}" if whole else f"{len(found)} from {found[0]} to {found[-1]}"
