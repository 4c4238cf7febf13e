import re

import seqray
from seqray.util.version import __version__


def test_the_version_is_that_of_the_package():
    assert seqray.__version__ == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", __version__)
