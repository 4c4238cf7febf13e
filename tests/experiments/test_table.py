import gzip
import math

import pytest

from seqray.experiments.table import (
    COLUMNS,
    Result,
    best,
    choose,
    held_out,
    matching,
    problem_order,
    read_results,
    write_results,
)
from seqray.util.errors import ArgumentError, FileError, MissingFileError


def row(rank=1, problem="3", size=300, which="test", selection="all", **metrics):
    return Result(problem, "paper", size, size, rank, which, selection, **metrics)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.csv.gz"


def test_the_columns_are_those_of_the_experiments():
    assert (
        *("problem", "method", "prefixes", "suffixes", "rank", "set", "selection"),
        *("ndcg1", "ndcg5", "perplexity_ratio", "kl", "wer", "zeros"),
        *("kl_per_symbol", "steps", "seconds", "seed"),
    ) == COLUMNS


def test_a_table_comes_back(path):
    rows = [row(1, ndcg5=0.25, kl=math.inf), row(2, ndcg5=1e-12, zeros=1.0, steps=7, seconds=0.5)]
    write_results(rows, path)
    found = read_results(path)
    assert [repr(one) for one in found] == [repr(one) for one in rows]  # nan is not nan


def test_rows_are_sorted_by_problem_basis_rank_and_set(path):
    rows = [row(2), row(1), row(1, "10"), row(1, "spice4"), row(1, "3", 200), row(1, which="rnn")]
    write_results(rows, path)
    places = [(one.problem, one.prefixes, one.rank, one.set) for one in read_results(path)]
    assert places == [
        *(("3", 200, 1, "test"), ("3", 300, 1, "rnn"), ("3", 300, 1, "test")),
        *(("3", 300, 2, "test"), ("10", 300, 1, "test"), ("spice4", 300, 1, "test")),
    ]


def test_the_same_rows_give_the_same_bytes_whatever_their_order(path, tmp_path):
    rows = [row(rank, ndcg5=rank / 7) for rank in range(1, 9)]
    write_results(rows, path)
    write_results(rows[::-1], tmp_path / "again.csv.gz")
    assert path.read_bytes() == (tmp_path / "again.csv.gz").read_bytes()


def test_a_table_that_is_not_compressed_is_read(path, tmp_path):
    write_results([row(ndcg5=0.5)], path)
    plain = tmp_path / "plain.csv"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert read_results(plain)[0].ndcg5 == 0.5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("problem,method", "problem,way", "expected the columns problem, method"),
        ("3,paper,300,300,1,test,all", "3,paper,300,300,one,test,all", "rank: expected a int"),
        ("3,paper,300,300,1,test,all", "3,paper,300,300,1,train,all", "set 'train' is not one of"),
        ("3,paper,300,300,1,test,all", "3,paper,300,300,1,test,new", "selection 'new' is not one"),
        ("3,paper,300,300,1,test,all", "3,paper", "line 2: expected 17 fields, got"),
        (",0.5,", ",half,", "ndcg5: expected a float, got 'half'"),
    ],
)
def test_damage_is_named_with_its_line(path, old, new, message):
    write_results([row(ndcg5=0.5)], path)
    text = gzip.decompress(path.read_bytes()).decode()
    assert old in text
    path.write_bytes(gzip.compress(text.replace(old, new, 1).encode()))
    with pytest.raises(FileError, match=message) as error:
        read_results(path)
    assert str(path) in str(error.value)


def test_a_table_that_was_cut_is_refused(path):
    write_results([row(rank) for rank in range(1, 50)], path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError, match="not a table, or damaged: its compressed content"):
        read_results(path)


def test_a_table_that_is_not_there_is_said(path):
    with pytest.raises(MissingFileError):
        read_results(path)


def test_rows_are_chosen_by_value_or_by_several():
    rows = [row(rank, problem) for rank in (1, 2, 3) for problem in ("3", "4")]
    assert len(choose(rows, problem="3")) == 3
    assert len(choose(rows, problem={"3", "4"}, rank=range(2, 4))) == 4
    assert choose(rows, problem="34") == []
    with pytest.raises(ArgumentError, match="column 'size' is not one of problem, method"):
        choose(rows, size=3)


def test_the_best_is_the_largest_or_smallest_and_of_equals_the_smallest_automaton():
    rows = [row(5, ndcg5=0.9, wer=0.3), row(3, ndcg5=0.9, wer=0.2), row(4, ndcg5=0.8, wer=0.5)]
    rows += [row(1, size=800, ndcg5=0.9), row(9), row(2, ndcg5=1.0, selection="best-ndcg")]
    assert best(rows)["3"].rank == 3
    assert best(rows)["3"].prefixes == 300
    assert best(rows, "wer")["3"].rank == 3
    assert best([row(1)]) == {}
    with pytest.raises(ArgumentError, match="metric 'rank' is not one of ndcg1"):
        best(rows, "rank")


def test_the_fair_choice_is_that_of_the_largest_basis():
    rows = [row(7, size=size, selection="held-out") for size in (800, 1400, 300)] + [row(9)]
    assert held_out(rows)["3"].prefixes == 1400


def test_parameters_are_looked_up_on_the_other_words():
    rows = [row(rank, which=which) for rank in (1, 2) for which in ("test", "rnn")]
    found = matching([rows[2]], choose(rows, set="rnn"))
    assert (found["3"].rank, found["3"].set) == (2, "rnn")


def test_problems_are_counted_as_people_do():
    assert sorted(["10", "trucks", "9", "spice4"], key=problem_order) == [
        *("9", "10", "spice4", "trucks"),
    ]
