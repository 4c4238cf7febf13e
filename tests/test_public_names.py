import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import seqray


@pytest.fixture(scope="module")
def without_torch():
    """The names that cannot be had, if PyTorch is not there."""
    try:
        import torch  # noqa: F401, PLC0415
    except ImportError:
        return {"train"}
    return set()


def test_public_names_are_sorted_and_listed_everywhere_alike():
    assert seqray.__all__ == sorted(seqray.__all__)
    assert len(set(seqray.__all__)) == len(seqray.__all__)


def test_type_checkers_see_the_public_names_where_they_are(without_torch):
    module = ast.parse(Path(seqray.__file__).read_text("utf-8"))
    (guarded,) = [
        node
        for node in module.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imports = {
        name.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert sorted(imports) == seqray.__all__
    for name in set(imports) - without_torch:
        assert getattr(seqray, name) is getattr(importlib.import_module(imports[name]), name)


@pytest.mark.parametrize("name", seqray.__all__)
def test_every_public_name_can_be_imported(name, without_torch):
    if name in without_torch:
        pytest.skip("needs PyTorch")
    value = getattr(seqray, name)
    assert value.__name__ == name
    assert value.__doc__


def test_no_public_name_hides_a_module():
    modules = {module.name for module in pkgutil.iter_modules(seqray.__path__)}
    assert not modules & set(seqray.__all__)


def test_public_names_are_offered_for_completion():
    assert set(seqray.__all__) <= set(dir(seqray))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'seqray' has no attribute 'extrct'"):
        seqray.extrct  # noqa: B018


@pytest.mark.parametrize("code", ["import seqray", "import seqray; seqray.extract"])
def test_importing_seqray_loads_nothing_heavy(code):
    heavy = "{'torch', 'matplotlib', 'dask', 'scipy.linalg', 'onnxruntime'}"
    script = f"{code}; import sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_numpy_waits_until_it_is_needed():
    script = "import seqray, seqray.cli, sys; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
