"""The version."""

import re

import seqray
from seqray.util.version import __version__


def test_the_package_has_the_version_of_its_module():
    assert seqray.__version__ == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
