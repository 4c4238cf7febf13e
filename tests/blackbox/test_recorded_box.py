"""What a hostile run folder cannot do, and what an honest one can."""

import os
import socket

import pytest

from seqray import WeightedAutomaton
from seqray.blackbox.box_record import BoxRecord
from seqray.blackbox.recorded_box import open_recorded
from seqray.blackbox.registry import ADAPTERS
from seqray.util.errors import ArgumentError, BlackBoxError, FileError

COIN = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """Return a folder with a machine and an empty run folder, which is the current one."""
    home = tmp_path / "project"
    (home / "nets").mkdir(parents=True)
    (home / "run").mkdir()
    COIN.save(home / "nets" / "coin.json")
    COIN.save(tmp_path / "outside.json")
    monkeypatch.chdir(home)
    return home


def refused(record, match, run="run"):
    with pytest.raises(ArgumentError, match=match) as caught:
        open_recorded(record, run)
    return str(caught.value)


# Honest folders -------------------------------------------------------------------------------


def test_a_plain_file_is_opened():
    spec, box = open_recorded(BoxRecord("wa:nets/coin.json"), "run")
    assert spec == "wa:nets/coin.json"
    assert box.weights(["a"]) == pytest.approx([0.25])


def test_the_demo_is_opened():
    assert open_recorded(BoxRecord("demo"), "run")[0] == "demo"


def test_the_path_is_seen_from_the_run_folder_wherever_that_is(tmp_path, monkeypatch, project):
    record = BoxRecord("wa:nets/coin.json").seen_from("run")
    moved = project.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    spec, _ = open_recorded(record, moved / "run")
    assert spec == f"wa:{moved / 'nets' / 'coin.json'}"


def test_a_path_that_is_not_there_is_looked_for_in_the_current_folder(tmp_path):
    record = BoxRecord("wa:nets/coin.json").seen_from("run")
    (tmp_path / "elsewhere" / "run").mkdir(parents=True)
    assert open_recorded(record, tmp_path / "elsewhere" / "run")[0] == "wa:nets/coin.json"


def test_recorded_options_are_used_and_may_be_replaced():
    record = BoxRecord("wa:nets/coin.json", {"purpose": "nonsense"})
    with pytest.raises(ArgumentError, match="nonsense"):
        open_recorded(record, "run")
    open_recorded(record, "run", options={"purpose": "reading"})


def test_a_file_that_is_gone_is_named():
    refused(
        BoxRecord("wa:nets/no.json"), "wa:nets/no.json, and there is no such file: name the box"
    )


# Secrets --------------------------------------------------------------------------------------


def test_a_box_with_secrets_has_to_be_named():
    record = BoxRecord.of("http://host/?key=abcdef", {})
    refused(record, r"without a part of its specification, which may be a secret")
    record = BoxRecord.of("wa:nets/coin.json", {"token": "abcdef"})
    refused(record, "without the option token, which may be a secret")


# Hostile folders ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        "cmd:touch owned",
        "cmd:sh -c 'touch owned'",
        "python:owned:box",
        "http://127.0.0.1:{port}/",
        "https://127.0.0.1:{port}/",
    ],
)
def test_no_program_is_started_and_no_connection_opened(project, spec):
    (project / "owned.py").write_text("open('owned', 'w').close()\nbox = None\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        record = BoxRecord(spec.format(port=server.getsockname()[1]))
        message = refused(record, "starts a program or a connection")
        with pytest.raises(TimeoutError):
            server.accept()
    assert message.endswith("or add --trust-run if you trust the folder")
    assert not (project / "owned").exists()


def test_every_kind_of_box_needs_the_users_word_unless_it_reads_files_only():
    needs = {kind for kind, adapter in ADAPTERS.items() if not adapter.reads_files_only}
    assert {"cmd", "python", "http", "https"} <= needs
    assert {"demo", "rnn", "wa", "keras", "hf"}.isdisjoint(needs)


@pytest.mark.parametrize("spec", ["shell:ls", "coin.json", "nets/coin.json", "//host/share.json"])
def test_a_kind_has_to_be_known(spec):
    refused(BoxRecord(spec), "expected one of cmd, demo, ")


@pytest.mark.parametrize(
    "where", ["/etc/passwd", "../outside.json", "nets/../../outside.json", "//host/share/x.json"]
)
def test_files_elsewhere_are_not_opened(where):
    refused(BoxRecord(f"wa:{where}"), "lies neither below the current folder nor beside the run")


@pytest.mark.parametrize("path", ["/etc/passwd", "../../outside.json", "../../../etc/passwd"])
def test_a_path_from_the_run_folder_may_not_lead_elsewhere(path):
    record = BoxRecord("wa:/etc/passwd", path_from_run=path)
    refused(record, "lies neither below the current folder nor beside the run")


def test_links_are_not_followed(tmp_path, project):
    os.symlink(tmp_path / "outside.json", project / "run" / "link.json")
    os.symlink(tmp_path, project / "run" / "up")
    refused(BoxRecord("wa:run/link.json"), r"is reached by a link \(run/link\.json\)")
    refused(BoxRecord("wa:run/up/outside.json"), r"is reached by a link \(run/up\)")


def test_a_card_may_not_be_a_link(tmp_path, project):
    (project / "net.onnx").write_bytes(b"")
    os.symlink(tmp_path / "outside.json", project / "net.seqray.json")
    refused(BoxRecord("onnx:net.onnx"), r"is reached by a link \(net\.seqray\.json\)")


def test_folders_may_not_hold_links(tmp_path, project):
    (project / "model").mkdir()
    os.symlink(tmp_path / "outside.json", project / "model" / "config.json")
    refused(BoxRecord("hf:model"), r"is reached by a link \(model/config\.json\)")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are special files of Unix")
def test_pipes_and_devices_are_not_opened(project):
    os.mkfifo(project / "pipe.json")
    refused(BoxRecord("wa:pipe.json"), r"is no plain file \(pipe\.json\)")
    refused(BoxRecord("wa:/dev/zero"), "lies neither below")


def test_unknown_options_are_refused():
    refused(BoxRecord("wa:nets/coin.json", {"run": "touch owned"}), "has no option 'run'")


# The user's word ------------------------------------------------------------------------------


def test_with_the_users_word_everything_is_opened(tmp_path, project):
    assert open_recorded(BoxRecord("wa:../outside.json"), "run", is_trusted=True)
    os.symlink(tmp_path / "outside.json", project / "link.json")
    assert open_recorded(BoxRecord("wa:link.json"), "run", is_trusted=True)
    (project / "trusted_box.py").write_text("import seqray\nbox = seqray.black_box(len, 'ab')\n")
    _, box = open_recorded(BoxRecord("python:trusted_box:box"), "run", is_trusted=True)
    assert list(box.alphabet) == ["a", "b"]
    with pytest.raises((BlackBoxError, FileError, ArgumentError)):
        open_recorded(BoxRecord("cmd:no-such-program-here"), "run", is_trusted=True)
