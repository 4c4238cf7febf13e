"""The page of results: what was run, tables and figures, and where the paper is met or not.

Every figure on it comes from a folder of results; what is missing there is said, not left out.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqray.blackbox.registry import open_black_box
from seqray.draw.svg import to_svg
from seqray.experiments import paper
from seqray.experiments.figures import DRAWINGS
from seqray.experiments.findings import Findings, read_findings
from seqray.experiments.own import (
    criteria,
    own_summary_table,
    own_table,
    queries_text,
)
from seqray.experiments.own_copies import copies_table
from seqray.experiments.own_figures import OWN_DRAWINGS
from seqray.experiments.plots import Drawing, NothingToDrawError, draw, save_figure
from seqray.experiments.report_gaps import gaps_text
from seqray.experiments.report_runs import runs_text
from seqray.experiments.statements import far_from_paper, listed, statements
from seqray.experiments.table import PAPER, SETS, best
from seqray.experiments.tables import (
    best_table,
    boxes_table,
    distilled_table,
    markdown,
    other_table,
    summary_table,
)
from seqray.extraction.extract import extract
from seqray.formats.words_file import PathLike
from seqray.util.errors import FileError
from seqray.util.files import writing
from seqray.util.formatting import decimals

PREFIX = "experiments-"
"""How the names of the figures' files begin."""
MIN_DRAWN_WEIGHT = 0.05
"""Transitions with a smaller weight are not drawn, as in the paper."""


@dataclass(frozen=True)
class Report:
    """The files that a report wrote.

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
    findings = read_findings(results, boxes=boxes)
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
            save_figure(draw(drawing, findings), folder, PREFIX + drawing.name)
        except NothingToDrawError as gap:
            missing[drawing.name] = str(gap)
    if reason := _draw_automaton(boxes, folder / f"{PREFIX}automaton.svg"):
        missing["automaton"] = reason
    link = Path(os.path.relpath(folder.absolute(), page.absolute().parent)).as_posix()
    with writing(page) as fresh:
        fresh.write_text(page_text(findings, link, missing), "utf-8")
    names = [drawing.name for drawing in drawings] + ["automaton"]
    return Report(page, tuple(name for name in names if name not in missing), missing)


def page_text(findings: Findings, images: str, missing: Mapping[str, str]) -> str:
    """Return the page.

    Parameters
    ----------
    findings
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
        "Perplexity, the perplexity ratio and the KL divergence are here as in the paper: both "
        "sides are normalised over the evaluation words, so that a few short words carry them. "
        "Everywhere else seqray measures the divergence in bits per symbol (docs/method.md).",
        runs_text(findings),
        *_own_method(findings, images, missing),
        "## In a few figures",
        "The paper's method again, over all problems that the paper's tables have as well. *best*: "
        "rank and basis picked on "
        "the evaluation words themselves, for each metric by itself, as the paper does. "
        "*held-out*: the rank chosen on other words drawn from the network, at the largest basis; "
        "nothing is picked on the evaluation words. The best ratio is the largest; zeros, weights "
        "that are not positive, are those at the best ratio.",
        summary_table(findings),
        _with_all(findings),
        "## Does it say what the paper says?",
        _agreement(findings),
        _differences(findings),
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
        parts += [f"### PAutomaC on {SETS[which]}", best_table(findings, which)]
    if any(not row.problem.isdecimal() for row in findings.rows):
        parts += ["### Data without a target", "Both ratios are to the RNN."]
        parts += [other_table(findings)]
    if findings.distilled:
        parts += [
            "## The automaton in the network's place",
            "Medians over the problems: processor time for the weight of a test word, all words "
            "queried *together* (so that words share their prefixes) or each *alone*, and the size "
            "of the model.",
            distilled_table(findings),
        ]
    if findings.boxes:
        parts += ["## The networks", _networks(findings), boxes_table(findings)]
    parts += ["## What is missing", gaps_text(findings, missing)]
    return "\n\n".join(map(_wrapped, parts)) + "\n"


# Parts of the page --------------------------------------------------------------------------------


def _own_method(findings: Findings, images: str, missing: Mapping[str, str]) -> Iterable[str]:
    """Yield the section about seqray's own method."""
    yield "## seqray's own method"
    if not findings.own:
        yield "It was not run: `seqray bench --method auto` adds it to the same results."
        return
    yield (
        "What `seqray.extract` does by itself: it draws words from the network, queries what "
        "follows their contexts, and takes the automaton of these conditional blocks or a "
        "probabilistic automaton fitted to them. It chooses its rank on words that it holds out: "
        f"nothing is picked on the evaluation words. {_copies_text(findings)} "
        "Beside it stand, over the problems that all of "
        "them have, the paper's published values and the paper's method on the same networks as "
        "ours. *best*: rank and basis picked on the evaluation words, for each metric by itself, "
        "as all that is published; *held-out*: the rank chosen on other words, at the largest "
        "basis. A step is the network reading one symbol; those for the words that ranks are "
        "chosen on are not counted, for either method."
    )
    yield own_summary_table(findings)
    checked = criteria(findings)
    if checked:
        n_holding = sum(criterion.holds for criterion in checked)
        yield (
            f"Of {len(checked)} criteria, {n_holding} hold. *The paper's* are its published "
            "values, of networks that are not ours."
        )
        yield _verdicts(["criterion", "here", "holds"], checked)
    yield queries_text(findings)
    yield from _figures(OWN_DRAWINGS, images, missing)
    yield "### Each problem"
    yield (
        "The first four columns are NDCG₅, the paper's and its method's here at their best; a dash "
        "where the paper has no value, or its method was not run. Own: "
        "all of what was chosen on held-out words; *of 800 × 800* is the share of the steps that "
        "the paper's method takes there, the steps for the words of copies included."
    )
    yield own_table(findings)
    if findings.copies:
        yield "### Ranks and copies"
        yield (
            "The rank for reading and the largest copy, both chosen on held-out words. *cost* is "
            "the most multiplications to read one symbol; 100 dense states need 10,000. *bits per "
            "symbol* is the divergence from the network to the automaton."
        )
        yield copies_table(findings)


def _copies_text(findings: Findings) -> str:
    """Say on how many problems copies were measured."""
    measured = {problem for about in findings.about.values() for problem in about.get("copies", ())}
    if not measured:
        return "Copies, its larger structured automata, were not measured here."
    return (
        "Then it fits copies, structured automata with more states, to these words and to more: "
        "*seqray's own* is the largest copy, or where no copy is nearer to the network the rank "
        f"that is nearest on held-out words. Copies were measured on {len(measured)} of the "
        "problems."
    )


def _with_all(findings: Findings) -> str:
    """Return the means with the problems that the paper leaves out."""
    more = {row.problem for row in findings.pautomac("test")} - set(paper.paper_problems())
    if not more:
        return "The paper's tables have all of these problems."
    means = []
    for which in SETS:
        gains = [row.ndcg5 for row in best(findings.pautomac(which), "ndcg5").values()]
        means.append(f"{decimals(sum(gains) / len(gains))} on {SETS[which]}")
    whom = f"With problem {listed(more)}, which the paper leaves out"
    return f"{whom}, mean NDCG₅ is {', '.join(means)}."


def _agreement(findings: Findings) -> str:
    return _verdicts(["the paper", "here", "agrees"], statements(findings))


def _verdicts(header: Sequence[str], verdicts: Iterable[tuple[str, str, bool | None]]) -> str:
    """Return a table of what should be, what is, and whether that is the same."""
    marks = {True: "yes", False: "**no**", None: "–"}
    table = markdown(header, [[wanted, seen, marks[same]] for wanted, seen, same in verdicts])
    return table.replace("| --- | ---: | ---: |", "| --- | --- | --- |")


def _differences(findings: Findings) -> str:
    lines = []
    for which in SETS:
        above, below = far_from_paper(findings, which)
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
            "automaton has to follow its network where that is wrong too: a network that has "
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
            f"in each state, transitions below {MIN_DRAWN_WEIGHT} hidden, as in the paper."
        )


def _networks(findings: Findings) -> str:
    good = [box for box in findings.boxes.values() if box.quality >= 0.9]
    known = [box for box in findings.boxes.values() if box.quality == box.quality]
    mean = sum(box.quality for box in known) / len(known) if known else float("nan")
    return (
        "The size and epoch with the best cross-entropy on held-out words were chosen. *target / "
        "RNN* is Perp(target, target) / Perp(target, RNN) on S_test: 1 would be a network that is "
        f"its target. It is 0.9 or more on {len(good)} of {len(known)} problems, {decimals(mean)} "
        "on average."
    )


def _draw_automaton(boxes: PathLike | None, path: Path) -> str:
    """Extract and draw the automaton that the paper draws; return why not, if not."""
    if boxes is None:
        return "the folder of networks was not named"
    problem, basis, rank = paper.DRAWN[:3]
    network = Path(boxes, f"{problem}.safetensors")
    if not network.is_file():
        return f"there is no network {network.name}"
    box = open_black_box(f"rnn:{network}")
    extraction = extract(box, n_prefixes=basis, n_suffixes=basis, max_rank=rank, method=PAPER)
    automaton = extraction.automaton(rank)
    with writing(path) as fresh:
        fresh.write_text(to_svg(automaton, threshold=MIN_DRAWN_WEIGHT), "utf-8")
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
