import gzip

import pytest

from seqray import Alphabet, read_events, read_words
from seqray.util.errors import FileError, SymbolError


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        content = text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


FASTA = "; old comment\n>one first sequence\nACgt\nTT AA\n\n>two\r\nNN-\r\n>\n>four\nA*"


@pytest.mark.parametrize("name", ["a.fasta", "a.FA", "a.fna", "a.faa.gz"])
def test_a_record_of_fasta_is_a_word_of_capital_letters(file, name):
    log = read_events(file(name, FASTA))
    assert ["".join(word) for word in log.words] == ["ACGTTTAA", "NN-", "", "A*"]
    assert log.cases == ("one", "two", "3", "four")
    assert log.words.alphabet == Alphabet("*-ACGNT")


def test_files_of_words_may_be_fasta(file):
    words = read_words(file("a.fasta", ">1\nacgt\n>2\nA\n"))
    assert list(words) == [tuple("ACGT"), ("A",)]


def test_a_given_alphabet_is_kept(file):
    path = file("a.fasta", ">1\nCA\n")
    assert read_words(path, alphabet="ACGT").codes.tolist() == [1, 0]
    with pytest.raises(SymbolError, match="activities outside the alphabet, the first is 'C'"):
        read_words(path, alphabet="AT")


@pytest.mark.parametrize("name", ["a.fastq", "a.fq.gz"])
def test_fastq_may_be_folded_and_qualities_may_look_like_anything(file, name):
    text = "@one x\nAC\nGT\n+one\n@@\n++\n\n@two\nacn\n+\n>A@\n@three\n+\n"
    log = read_events(file(name, text))
    assert ["".join(word) for word in log.words] == ["ACGT", "ACN", ""]
    assert log.cases == ("one", "two", "three")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.fasta", "ACGT\n", "a.fasta: line 1: expected '>' and a name"),
        ("a.fasta", ">one\nAC1\n", "line 2: expected letters of a sequence"),
        ("a.fasta", "\n\n", "the file is empty"),
        ("a.fasta", ";\n", "there is no sequence in the file"),
        ("a.fastq", ">one\nAC\n", "line 1: expected '@' and a name"),
        ("a.fastq", "@one\nAC\n", "has 2 letters and 0 signs of quality"),
        ("a.fastq", "@one\nAC\n+\n!!!\n", "has 2 letters and 3 signs of quality"),
        ("a.fastq", "@one\nAC\n+\n!\n", "has 2 letters and 1 signs of quality"),
        ("a.fastq", "@one\nA!\n+\n!!\n", "line 2: expected letters of a sequence"),
    ],
)
def test_damaged_files_are_refused(file, name, text, message):
    with pytest.raises(FileError, match=message):
        read_events(file(name, text))
