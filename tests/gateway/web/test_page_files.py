"""The files of the page: what they may load, what is kept for offline, and colours that can be read."""

import json
import re
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[3] / "gateway" / "web"
SCRIPTS = sorted(WEB.rglob("*.js"))
TEXT_ON = [("ink", "paper"), ("ink", "surface"), ("ink", "tint"), ("muted", "paper"), ("muted", "surface")]
TEXT_ON += [("muted", "raised"), ("accent", "surface"), ("on-accent", "accent"), ("bad", "paper"), ("ink", "bad-tint")]


@pytest.mark.parametrize("path", [*SCRIPTS, WEB / "index.html", WEB / "style.css"], ids=lambda path: path.name)
def test_no_file_of_the_page_reaches_outside(path: Path) -> None:
    """No address of another host, no inline script or style, no HTML made out of text."""
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:|[\"'(])//[a-z0-9-]+\.[a-z]", text)
    assert not re.search(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\()", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son[a-z]+=|\sstyle=", text)


def test_the_offline_shell_holds_every_file_that_the_page_loads() -> None:
    """A file that is missing from the list would break the page without a gateway; one that is gone, the install."""
    worker = (WEB / "service-worker.js").read_text(encoding="utf-8")
    kept = set(re.findall(r'"(/[\w./-]*)"', worker[worker.index("FILES") : worker.index("];")]))
    loaded = {f"/{path.relative_to(WEB).as_posix()}" for path in SCRIPTS} - {"/service-worker.js"}
    assert loaded | {"/", "/style.css", "/icon.svg", "/manifest.webmanifest"} <= kept
    assert all(path == "/" or (WEB / path[1:]).is_file() for path in kept)


def test_the_icons_of_the_manifest_exist_in_their_sizes() -> None:
    """What an installed app shows is there, in the size it claims."""
    manifest = json.loads((WEB / "manifest.webmanifest").read_text(encoding="utf-8"))
    for icon in manifest["icons"]:
        content = (WEB / icon["src"][1:]).read_bytes()
        if icon["type"] == "image/png":
            width = int.from_bytes(content[16:20], "big")
            assert icon["sizes"] == f"{width}x{width}"


@pytest.mark.parametrize(("text", "ground"), TEXT_ON)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_on_its_ground(text: str, ground: str, theme: int) -> None:
    """Every pair of text and ground has the contrast of 4.5 to 1 that WCAG AA asks for."""
    style = (WEB / "style.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}), #\w{6}\)", style))
    if theme:
        colours = dict(re.findall(r"--([\w-]+): light-dark\(#\w{6}, (#\w{6})\)", style))
    lighter, darker = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
