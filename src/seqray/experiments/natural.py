"""Problems without a target machine: the SPiCe problems, trucks, and event logs.

Each has one file of words. Networks are trained on its first words and evaluated on its last ones.
"""

from __future__ import annotations

from dataclasses import dataclass

N_RESERVED_WORDS = 2000
"""Words at the end of a file that networks are evaluated on, but not trained on."""


@dataclass(frozen=True)
class NaturalProblem:
    """A problem without a target machine.

    Parameters
    ----------
    name
        The problem's name, and that of its network.
    title
        Its name in texts.
    file
        The file of its words, in the folder of its data set.
    n_reserved
        How many words at the end of the file are the test words.

    Examples
    --------
    >>> NATURAL["spice"][4].name, NATURAL["spice"][4].n_reserved
    ('spice4', 2000)
    """

    name: str
    title: str
    file: str
    n_reserved: int = N_RESERVED_WORDS


NATURAL = {
    "spice": {
        0: NaturalProblem("spice0", "SPiCe 0 (synthetic)", "0.spice.train"),
        4: NaturalProblem("spice4", "SPiCe 4 (English verbs)", "4.spice.train"),
    },
    "trucks": {
        2: NaturalProblem("trucks", "trucks (PAutomaC natural 2)", "pautomac-real-2.train.txt")
    },
    # A fifth of the sessions: 2,000 would leave too few to train on.
    "logs": {1: NaturalProblem("hdfs", "HDFS (log keys)", "hdfs_train.txt", n_reserved=970)},
}
"""The problems by suite and number. A suite has the name of its data set in the catalogue."""
