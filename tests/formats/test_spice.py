import logging

import numpy as np
import pytest

from seqray.formats.spice import read_prefixes_and_targets, read_targets
from seqray.util.errors import FileError

PREFIXES = "3 2\n2 0 1\n0 \n1 1"  # the published files have spaces at the ends, and no last newline
TARGETS = "0.815465 1 0.5 -1 0.5\n1.0 0 1.0 1 0.0\n1.0 -1 1.0\n"


@pytest.fixture
def pair(tmp_path):
    prefixes, targets = tmp_path / "9.spice.prefix.public", tmp_path / "9.spice.target.public"
    prefixes.write_text(PREFIXES)
    targets.write_text(TARGETS)
    return prefixes, targets


def test_targets_are_what_follows_each_prefix_the_end_last(pair):
    found = read_prefixes_and_targets(*pair)
    assert list(found.prefixes) == [(0, 1), (), (1,)]
    assert found.probabilities.tolist() == [[0, 0.5, 0.5], [1, 0, 0], [0, 0, 1]]


def test_the_alphabet_of_the_training_words_can_be_given(pair):
    assert read_prefixes_and_targets(*pair, alphabet=range(4)).probabilities.shape == (3, 5)


def test_one_row_too_many_is_left_out_and_said(pair, caplog):
    pair[1].write_text(TARGETS + "1.0 0 1.0\n")
    with caplog.at_level(logging.WARNING):
        found = read_prefixes_and_targets(*pair)
    assert len(found.probabilities) == 3
    assert "one row too many: the last of 4 is left out" in caplog.text


@pytest.mark.parametrize("rows", [TARGETS + 2 * "1.0 0 1.0\n", "1.0 0 1.0\n"])
def test_other_numbers_of_rows_are_refused(pair, rows):
    pair[1].write_text(rows)
    with pytest.raises(FileError, match="expected a row for each of the 3 prefixes"):
        read_prefixes_and_targets(*pair)


def test_a_symbol_outside_the_alphabet_is_refused_with_its_line(pair):
    pair[1].write_text(TARGETS.replace("1.0 0 1.0 1 0.0", "1.0 7 1.0"))
    with pytest.raises(FileError, match="public:2: symbol 7 is outside the alphabet"):
        read_prefixes_and_targets(*pair)


@pytest.mark.parametrize(
    "row",
    ["", "1.0", "1.0 0", "x 0 1.0", "1.0 a 1.0", "1.0 0 x", "1.0 0 1.5", "1.0 0 nan", "1 0 1 0 0"],
)
def test_a_row_that_is_none_is_refused_with_its_line(pair, row):
    pair[1].write_text(TARGETS.replace("1.0 0 1.0 1 0.0", row))
    with pytest.raises(FileError, match="public:2: expected a gain, then symbols"):
        read_targets(pair[1])


@pytest.mark.parametrize("gain", ["0.9", "nan"])
def test_a_gain_that_is_not_that_of_the_row_is_damage(pair, gain):
    pair[1].write_text(TARGETS.replace("0.815465", gain))
    with pytest.raises(FileError, match="public:1: damaged: the row promises a best gain"):
        read_targets(pair[1])


@pytest.mark.parametrize(
    ("problem", "part", "n_rows"), [(0, "public", 1000), (4, "public", 748), (4, "private", 748)]
)
def test_the_published_files_are_read(data, problem, part, n_rows):
    begin = data / "spice" / f"{problem}.spice"
    if not begin.parent.is_dir():
        pytest.skip(f"no spice in {data}")
    found = read_prefixes_and_targets(f"{begin}.prefix.{part}", f"{begin}.target.{part}")
    assert len(found.prefixes) == len(found.probabilities) == n_rows
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-9)


def test_a_table_beyond_the_limit_is_refused_with_the_limit(pair):
    prefixes, targets = pair
    prefixes.write_text("1100 65536\n" + "0\n" * 1100)
    targets.write_text("1.0 -1 1.0\n" * 1100)
    with pytest.raises(FileError, match="1,100 × 65,537 would need 72,090,700 numbers, more than"):
        read_prefixes_and_targets(prefixes, targets)
