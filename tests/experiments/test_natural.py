from seqray.experiments.catalogue import find
from seqray.experiments.natural import NATURAL


def test_every_file_is_in_the_catalogue_and_leaves_words_to_train_on():
    for suite, known in NATURAL.items():
        sizes = {file.name: file.n_words for file in find(suite).files}
        for problem in known.values():
            assert 0 < problem.n_reserved < sizes[problem.file] / 2


def test_names_and_titles_are_unique():
    all_known = [problem for known in NATURAL.values() for problem in known.values()]
    for texts in ([one.name for one in all_known], [one.title for one in all_known]):
        assert len(set(texts)) == len(texts)
        assert not any(text.isdecimal() for text in texts)  # a number is a problem of PAutomaC
