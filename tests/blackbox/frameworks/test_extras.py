import pytest

from seqray.blackbox.frameworks.extras import load_extra
from seqray.util.errors import MissingExtraError


def test_a_package_that_is_there_is_returned():
    assert load_extra("json.decoder", "onnx").JSONDecoder


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.part"])
def test_a_missing_package_is_named_with_its_extra(module):
    with pytest.raises(MissingExtraError, match=rf"^the onnx adapter needs {module}: pip install"):
        load_extra(module, "onnx")


def test_a_broken_package_is_distinguished_from_a_missing_one(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_package.py").write_text("import no_such_package")
    with pytest.raises(MissingExtraError, match=r"broken_package, which cannot be loaded"):
        load_extra("broken_package", "torch")
