"""Tables of results in Markdown, each beside the paper's values where it gives any."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from seqray.experiments import paper
from seqray.experiments.catalogue import find
from seqray.experiments.findings import Findings, title_of
from seqray.experiments.table import SETS, Result, best, held_out, problem_order
from seqray.util.formatting import decimals, percent


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown: the first column to the left, all others to the right.

    Parameters
    ----------
    header
        The names of the columns.
    rows
        As many texts each.

    Examples
    --------
    >>> print(markdown(["problem", "rank"], [["3", "25"]]))
    | problem | rank |
    | --- | ---: |
    | 3 | 25 |
    """
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def marked(problem: str) -> str:
    """Return a problem as tables write it, with a star where its data are not the official ones.

    Examples
    --------
    >>> marked("3"), marked("22")
    ('3', '22*')
    """
    return f"{problem}{'*' * (problem == '22')}"


def summaries(findings: Findings, which: str) -> dict[str, paper.ResultsSummary]:
    """Return our results and the paper's on one set of words, each in a few figures.

    Only problems that both have are counted, so that the figures can be compared.

    Parameters
    ----------
    findings
        The results.
    which
        The set of words, ``"test"`` or ``"rnn"``.

    Returns
    -------
    summaries
        ``"best"``: rank and basis picked on these words; ``"held-out"``: the rank chosen on other
        words; ``"paper"``.

    Examples
    --------
    >>> summaries(Findings([]), "test")["best"].n_problems
    0
    """
    rows = findings.pautomac(which)
    gains, ratios, fair = best(rows, "ndcg5"), best(rows, "perplexity_ratio"), held_out(rows)
    theirs = {name: row for name, row in paper.published(which).items() if name in gains}
    gains, ratios, fair = ({n: of[n] for n in of if n in theirs} for of in (gains, ratios, fair))
    return {
        "best": _summary(gains.values(), ratios.values()),
        "held-out": _summary(fair.values(), fair.values()),
        "paper": paper.summary(
            [row.ndcg5 for row in theirs.values()],
            [row.perplexity_ratio for row in theirs.values()],
            [row.zeros for row in theirs.values()],
        ),
    }


def summary_table(findings: Findings) -> str:
    """Return the few figures of both sets side by side.

    Examples
    --------
    >>> print(summary_table(Findings([])).splitlines()[2])
    | problems | 0 | 0 | 0 | 0 | 0 | 0 |
    """
    columns = [
        (f"{SETS[which]}: {name}", summary)
        for which in SETS
        for name, summary in summaries(findings, which).items()
    ]
    lines: dict[str, list[str]] = {
        "problems": [str(one.n_problems) for _, one in columns],
        "NDCG₅, mean": [decimals(one.ndcg5_mean) for _, one in columns],
        "NDCG₅, smallest": [decimals(one.ndcg5_least) for _, one in columns],
        "NDCG₅ above 0.9": [str(one.above_90) for _, one in columns],
        "NDCG₅ above 0.99": [str(one.above_99) for _, one in columns],
        "perplexity ratio within 1 % of 1": [str(one.within_1_percent) for _, one in columns],
        "perplexity ratio 0.99 or more": [str(one.at_least_99_percent) for _, one in columns],
        "weights not positive, mean": [percent(one.zeros_mean) for _, one in columns],
    }
    return markdown(
        ["", *(name for name, _ in columns)], [[name, *cells] for name, cells in lines.items()]
    )


def best_table(findings: Findings, which: str) -> str:
    """Return each PAutomaC problem's best parameters on one set, beside the paper's values.

    Examples
    --------
    >>> rows = [Result("3", "paper", 300, 300, 7, "test", "all", ndcg5=0.9, perplexity_ratio=1)]
    >>> best_table(Findings(rows), "test").splitlines()[2].split(" | ")[2:5]
    ['7', '300', '1.00000']
    """
    rows = findings.pautomac(which)
    gains, ratios, fair = best(rows, "ndcg5"), best(rows, "perplexity_ratio"), held_out(rows)
    theirs = paper.published(which)
    lines = []
    for problem in sorted({*gains, *ratios}, key=problem_order):
        its = theirs.get(problem)
        lines.append(
            [
                *(marked(problem), _machine(problem)),
                *_place(ratios.get(problem), "perplexity_ratio"),
                decimals(its.perplexity_ratio if its else math.nan, 5),
                *(
                    percent(_value(ratios, problem, "zeros")),
                    percent(its.zeros) if its else "–",
                ),
                *_place(gains.get(problem), "ndcg5"),
                decimals(its.ndcg5 if its else math.nan, 5),
                str(fair[problem].rank) if problem in fair else "–",
                decimals(_value(fair, problem, "perplexity_ratio"), 5),
                decimals(_value(fair, problem, "ndcg5"), 5),
            ]
        )
    header = ["problem", "target", "ratio: rank", "basis", "value", "paper", "zeros", "paper"]
    header += ["NDCG₅: rank", "basis", "value", "paper", "held-out: rank", "ratio", "NDCG₅"]
    return markdown(header, lines)


def other_table(findings: Findings) -> str:
    """Return the best parameters of problems without a target; the paper has no such table."""
    lines = []
    for problem in sorted({row.problem for row in findings.rows if not row.problem.isdecimal()}):
        for which in SETS:
            rows = [row for row in findings.rows if row.problem == problem and row.set == which]
            fair = held_out(rows).get(problem)
            lines.append(
                [
                    title_of(problem),
                    SETS[which],
                    *_place(best(rows, "perplexity_ratio").get(problem), "perplexity_ratio"),
                    *_place(best(rows, "ndcg5").get(problem), "ndcg5"),
                    str(fair.rank) if fair else "–",
                    decimals(fair.perplexity_ratio if fair else math.nan, 5),
                    decimals(fair.ndcg5 if fair else math.nan, 5),
                ]
            )
    header = ["data", "words", "ratio: rank", "basis", "value", "NDCG₅: rank", "basis", "value"]
    return markdown([*header, "held-out: rank", "ratio", "NDCG₅"], lines)


def boxes_table(findings: Findings) -> str:
    """Return how each network was trained, and how good it is."""
    lines = []
    for problem in sorted(findings.boxes, key=problem_order):
        box, trained = findings.boxes[problem], findings.trained.get(problem)
        lines.append(
            [
                marked(problem),
                *((str(trained.hidden), str(trained.epoch)) if trained else ("–", "–")),
                decimals(trained.validation if trained else math.nan, 4),
                *(decimals(box.perplexity_target, 2), decimals(box.perplexity_box, 2)),
                *(decimals(box.quality), decimals(box.ndcg5, 4)),
                *(decimals(box.wer_box_test), decimals(box.wer_box_rnn)),
            ]
        )
    header = ["problem", "units", "epoch", "validation, nats", "perplexity, target", "RNN"]
    header += ["target / RNN", "NDCG₅ to the target", "WER on S_test", "WER on S_RNN"]
    return markdown(header, lines)


def distilled_table(findings: Findings) -> str:
    """Return what automata cost by rank, as medians over the problems."""
    lines = []
    for rank in sorted({row.rank for row in findings.distilled}):
        rows = [row for row in findings.distilled if row.rank == rank]
        together = median(row.box_together / row.automaton_together for row in rows)
        alone = median(row.box_alone / row.automaton_alone for row in rows)
        lines.append(
            [
                *(str(rank), str(len(rows)), decimals(median(row.ndcg5 for row in rows))),
                *(_micro(row.automaton_together for row in rows), f"{together:.1f} ×"),
                *(_micro(row.automaton_alone for row in rows), f"{alone:.1f} ×"),
                f"{median(row.automaton_bytes / 1024 for row in rows):.1f}",
                f"{median(row.box_bytes / row.automaton_bytes for row in rows):.1f} ×",
            ]
        )
    rows = list({row.problem: row for row in findings.distilled}.values())
    lines.append(
        [
            *("the RNN", str(len(rows)), "1", _micro(row.box_together for row in rows), ""),
            *(_micro(row.box_alone for row in rows), ""),
            *(f"{median(row.box_bytes / 1024 for row in rows):.1f}", ""),
        ]
    )
    header = ["rank", "problems", "NDCG₅ on S_test", "µs per word, together", "faster"]
    return markdown([*header, "µs per word, alone", "faster", "KiB", "smaller"], lines)


def _summary(gains: Iterable[Result], ratios: Iterable[Result]) -> paper.ResultsSummary:
    ratios = list(ratios)
    return paper.summary(
        [row.ndcg5 for row in gains],
        [row.perplexity_ratio for row in ratios],
        [row.zeros for row in ratios],
    )


def _place(row: Result | None, metric: str) -> list[str]:
    """Return rank, size of basis and value."""
    if row is None:
        return ["–", "–", "–"]
    return [str(row.rank), str(row.prefixes), decimals(getattr(row, metric), 5)]


def _value(rows: Mapping[str, Result], problem: str, metric: str) -> float:
    return float(getattr(rows[problem], metric)) if problem in rows else math.nan


def _machine(problem: str) -> str:
    known = find("pautomac").machines
    if not 0 < int(problem) <= len(known):
        return "–"
    machine = known[int(problem) - 1]
    return f"{machine.kind.upper()} {machine.n_states} × {machine.n_symbols}"


def _micro(seconds: Iterable[float]) -> str:
    return f"{1e6 * median(seconds):.1f}"
