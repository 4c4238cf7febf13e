"""The table and the figure of the docs, of the rows that `run.py` saved.

    python benchmarks/peers/report.py

writes docs/peers.md and docs/images/peers.svg.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from boxes import BENCHMARKS, BOXES, N_TEST_WORDS
from deciders import LANGUAGES
from rows import RESULTS, Row, read_rows

from seqray.experiments.findings import Findings
from seqray.experiments.plots import Drawing, draw, legend, mark, panels, save_figure
from seqray.util.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEQRAY = "seqray"
EXACT_BITS, AS_GOOD = 1e-6, 1.02
"""Fewer bits lost than the first count as none; up to this ratio two models are as near."""

REASONS = {
    "GRU": "it is a recurrent network, as the box is",
    "weighted L*": "its states are the most probable prefixes, and few others come up",
    **dict.fromkeys(
        ("AALpy KV", "AALpy L*"), "an answer after every prefix of a word is one query for it here"
    ),
}
"""Why a peer is nearer to a box, where it is."""

LEAST_DRAWN = 1e-5
"""Fewer bits are drawn as this."""

NO_MODEL = "seqray: the peer has no model"
MARKS = "osD^v<>PX*"


class Pair(NamedTuple):
    """A peer's best row on a box, and seqray's best row with no more queries."""

    peer: Row
    own: Row | None

    @property
    def verdict(self) -> str:
        """Who is nearer to the box, and why if it is the peer."""
        if not has_fidelity(self.peer):
            return NO_MODEL
        if self.own is None:
            return "seqray was not run"
        mine, theirs = loss(self.own), loss(self.peer)
        if max(mine, theirs) <= EXACT_BITS:
            return "both exact"
        if max(mine, theirs) <= AS_GOOD * min(mine, theirs):
            return "equal"
        if mine < theirs:
            return "seqray"
        return f"**{starred(self.peer['peer'])}**: {REASONS.get(self.peer['peer'], 'see the text')}"


def starred(name: str) -> str:
    """Return a name as Markdown shows it unchanged."""
    return name.replace("*", r"\*")


def has_fidelity(row: Row) -> bool:
    return bool(row["bits_per_symbol"] or row["agreement"])


def loss(row: Row) -> float:
    """Return the bits lost per symbol, or the share of decisions that differ."""
    if row["bits_per_symbol"]:
        return float(row["bits_per_symbol"])
    return 1 - float(row["agreement"])


def pairs_of(rows: list[Row], box: str) -> list[Pair]:
    """Return of each peer its best row on a box, beside seqray's."""
    here = [row for row in rows if row["box"] == box]
    own = [row for row in here if row["peer"] == SEQRAY]
    made = []
    for peer in dict.fromkeys(row["peer"] for row in here if row["peer"] != SEQRAY):
        theirs = [row for row in here if row["peer"] == peer]
        done = [row for row in theirs if has_fidelity(row)]
        best = min(done, key=loss) if done else theirs[0]
        made.append(Pair(best, equal_queries(own, best)))
    return made


def equal_queries(own: Iterable[Row], peer: Row) -> Row | None:
    """Return seqray's best row with the budget of a peer that takes words, or what another used."""
    allowed = int(peer["budget"] if peer["words"] else peer["queries"] or peer["budget"])
    fitting = [row for row in own if has_fidelity(row) and int(row["budget"]) <= allowed * 1.03]
    largest = max((int(row["budget"]) for row in fitting), default=0)
    return min((row for row in fitting if int(row["budget"]) == largest), key=loss, default=None)


# --- The table ------------------------------------------------------------------------------------


def table(rows: list[Row], boxes: dict[str, str]) -> str:
    """Return a table of every box and peer, in Markdown."""
    lines = [
        "| box | peer, its best setting | queries | bits lost, NDCG₅ | seqray's | "
        "processor time; seqray's | memory | size | nearer to the box |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for box, name in boxes.items():
        lines += [table_row(name, pair) for pair in pairs_of(rows, box)]
    return "\n".join(lines)


def table_row(name: str, pair: Pair) -> str:
    peer, own = pair.peer, pair.own
    cells = [
        name,
        f"{starred(peer['peer'])}, {peer['setting']}",
        grouped(peer["queries"] or peer["budget"]),
        fidelity_text(peer),
        "" if own is None else fidelity_text(own),
        f"{seconds_text(peer)}; {'' if own is None else seconds_text(own)}",
        f"{peer['megabytes']} MB" if peer["megabytes"] else "",
        size_text(peer),
        pair.verdict,
    ]
    return f"| {' | '.join(cells)} |"


def own_table(rows: list[Row], boxes: dict[str, str]) -> str:
    """Return a table of seqray's own rows with the largest budget, in Markdown."""
    lines = [
        "| box | function | queries | bits lost, NDCG₅ | processor time | memory | size |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    own = [row for row in rows if row["peer"] == SEQRAY and has_fidelity(row)]
    for box, name in boxes.items():
        here = [row for row in own if row["box"] == box]
        largest = max((int(row["budget"]) for row in here), default=0)
        lines += [
            f"| {name} | `{row['setting']}` | {grouped(row['queries'])} | {fidelity_text(row)} "
            f"| {seconds_text(row)} | {row['megabytes']} MB | {size_text(row)} |"
            for row in here
            if int(row["budget"]) == largest
        ]
    return "\n".join(lines)


def size_text(row: Row) -> str:
    if not row["states"]:
        return ""
    return f"{grouped(row['states'])} states, {grouped(row['numbers'])} numbers"


def fidelity_text(row: Row) -> str:
    if not has_fidelity(row):
        return row["remark"]
    if row["agreement"]:
        return f"agreement {float(row['agreement']):.4f}"
    return f"{bits_text(float(row['bits_per_symbol']))}, {float(row['ndcg5']):.3f}"


def bits_text(bits: float) -> str:
    return "0" if bits < EXACT_BITS else f"{bits:.2g}" if bits >= 1e-3 else f"{bits:.5f}"


def seconds_text(row: Row) -> str:
    if not row["seconds"]:
        return f"over {row['limit']} s"
    return f"{float(row['seconds']):.1f} s" + (" (the limit)" if row["is_limited"] == "1" else "")


def grouped(number: str) -> str:
    return f"{int(number):,}" if number else ""


def counts(pairs: list[Pair]) -> str:
    """Say how often seqray is nearer."""
    wins = [pair.verdict for pair in pairs]
    n_own = sum(each.startswith("seqray") for each in wins)
    n_equal = sum(each in ("equal", "both exact") for each in wins)
    n_peer = len(wins) - n_own - n_equal
    return (
        f"Of {len(wins)} comparisons seqray is nearer to the box in {n_own} (in "
        f"{wins.count(NO_MODEL)} of them the peer had no model within its limit), both are as near "
        f"in {n_equal}, and the peer is nearer in {n_peer}."
    )


# --- The figure -----------------------------------------------------------------------------------


def figure(rows: list[Row]) -> Figure:
    """Draw bits lost against processor time: one panel per box, one mark per peer."""
    names = list(dict.fromkeys(row["peer"] for row in rows if row["bits_per_symbol"]))
    names = [SEQRAY, *(name for name in names if name != SEQRAY)]
    looks = {
        name: (MARKS[at % len(MARKS)], COLOURS[at % len(COLOURS)]) for at, name in enumerate(names)
    }
    shown = [box for box in BOXES if any(row["box"] == box for row in rows)]
    n_columns = 4
    made, axes = panels(-(-len(shown) // n_columns), n_columns, width=11, height=6, sharey=True)
    flat = [ax for line in axes for ax in line]
    for ax, box in zip(flat, shown, strict=False):
        for name in names:
            here = [row for row in rows if (row["box"], row["peer"]) == (box, name)]
            here = [row for row in here if row["bits_per_symbol"]]
            if name == SEQRAY:
                largest = max((int(row["budget"]) for row in here), default=0)
                here = [row for row in here if int(row["budget"]) == largest]
            if not here:
                continue
            best = min(here, key=loss)
            place = max(float(best["seconds"]), 0.05), max(loss(best), LEAST_DRAWN)
            marker, colour = looks[name]
            ax.plot(*place, marker, color=colour, ms=10 if name == SEQRAY else 6)
        ax.set(xscale="log", yscale="log", title=BOXES[box], xlim=(0.03, 60))
        ax.set_xlabel("processor seconds")
    for line in axes:
        line[0].set_ylabel("bits lost per symbol")
    for ax in flat[len(shown) :]:
        ax.set_axis_off()
    legend_place = flat[len(shown)] if len(flat) > len(shown) else None
    handles = [mark(*looks[name], name) for name in names]
    if legend_place is None:
        legend(made, *handles)
    else:
        legend_place.legend(handles=handles, loc="center left")
    return made


def write(rows: list[Row], docs: Path) -> None:
    """Write the page and the figure."""
    pairs = [pair for box in (*BOXES, *LANGUAGES) for pair in pairs_of(rows, box)]
    page = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    text = page.format(
        counts=counts(pairs),
        boxes=", ".join(name for box, name in BOXES.items() if pairs_of(rows, box)),
        table=table(rows, BOXES),
        own=own_table(rows, BOXES),
        decided=table(rows, LANGUAGES),
        n_words=f"{N_TEST_WORDS:,}",
        minutes=f"{sum(float(row['seconds'] or row['limit']) for row in rows) / 60:.0f}",
    )
    (docs / "peers.md").write_text(text, encoding="utf-8")
    drawing = Drawing("peers", "", "Bits lost against processor time.", lambda _: figure(rows))
    with tempfile.TemporaryDirectory() as folder:
        save_figure(draw(drawing, Findings([])), Path(folder), drawing.name)
        (docs / "images").mkdir(exist_ok=True)
        shutil.copy(Path(folder, "peers.svg"), docs / "images")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=Path, default=RESULTS, help="the rows (default: %(default)s)"
    )
    parser.add_argument("--docs", type=Path, default=BENCHMARKS.parent / "docs")
    options = parser.parse_args()
    write(read_rows(options.rows), options.docs)


if __name__ == "__main__":
    main()
