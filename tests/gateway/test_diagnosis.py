"""`earpiece doctor` names what is in the way, and what to do about it."""

import socket
from pathlib import Path

from gateway.diagnosis import extra_findings, port_finding, python_finding, shadow_findings


def test_this_python_is_fine() -> None:
    """The running interpreter is new enough, or nothing here would run."""
    assert python_finding().state == "fine"


def test_a_local_package_of_the_same_name_is_named_with_its_place(tmp_path: Path) -> None:
    """A project folder called gateway would win over ours: the finding says where it is."""
    (tmp_path / "gateway").mkdir()
    (tmp_path / "gateway" / "__init__.py").touch()
    home = tmp_path / "elsewhere"
    findings = {finding.name: finding for finding in shadow_findings([str(tmp_path)], home)}
    assert findings["gateway"].state == "wrong"
    assert str(tmp_path / "gateway") in findings["gateway"].sentence
    assert findings["adapters"].state == "fine"


def test_a_module_file_of_the_same_name_counts_as_well(tmp_path: Path) -> None:
    """adapters.py in the working folder shadows the package just as a folder does."""
    (tmp_path / "adapters.py").touch()
    findings = {finding.name: finding.state for finding in shadow_findings([str(tmp_path)], tmp_path / "home")}
    assert findings["adapters"] == "wrong"


def test_our_own_folder_is_not_in_its_own_way(tmp_path: Path) -> None:
    """The packages that run are not reported against themselves."""
    (tmp_path / "gateway").mkdir()
    (tmp_path / "gateway" / "__init__.py").touch()
    assert {finding.state for finding in shadow_findings([str(tmp_path)], tmp_path)} == {"fine"}


def test_a_missing_extra_is_answered_with_its_command() -> None:
    """What is not installed comes with the exact command, and does not count as wrong."""
    for finding in extra_findings():
        assert finding.state in ("fine", "missing")
        assert finding.state == "fine" or finding.sentence.startswith('pip install "earpiece[')


def test_a_busy_port_is_wrong_and_a_free_one_fine() -> None:
    """The person learns that something already listens, before the gateway fails to start."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert port_finding("127.0.0.1", port).state == "wrong"
    assert port_finding("127.0.0.1", port).state == "fine"
