"""When the gateway goes away and comes back, wants a token, or was never there: what was said stays on the page."""

import asyncio
import hashlib
from pathlib import Path

from playwright.async_api import expect

from gateway.application import create_gateway_application
from gateway.settings import GatewaySettings
from tests.gateway.web.browser import HANDBOOK, ask, text_of, turn
from tests.gateway.web.conftest import OpenPage, Serve
from tests.gateway.web.providers import Handbook, WaitingHandbook


async def test_what_was_said_stays_and_is_told_to_the_gateway_that_comes_back(
    serve: Serve, open_page: OpenPage
) -> None:
    """A restart leaves the transcript as it was, answers nothing twice, and the next question is answered."""
    gateway = await serve(Handbook())
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers?")
    await turn(page, 1)
    await gateway.aclose()
    await page.wait_for_selector("#away:not([hidden])")
    await page.fill("#question", "Who are the reviewers?")
    await page.press("#question", "Enter")
    assert await page.input_value("#question") == "Who are the reviewers?", "nothing typed is lost while it is away"

    told: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: told.append(str(data))))
    await serve(Handbook(), port=gateway.port)
    await page.click("#retry")
    await page.wait_for_selector("#away", state="hidden")
    await page.press("#question", "Enter")
    await turn(page, 2)
    assert await page.locator(".turn").count() == 2
    assert (await text_of(page, 1, "answer")).count("two reviewers") == 1
    assert any("How many reviewers?" in frame for frame in told), "the new session knows what was said before"


async def test_an_answer_cut_off_by_a_restart_can_be_asked_again(serve: Serve, open_page: OpenPage) -> None:
    """The turn says that the connection broke; one press asks the same again, and only then is it answered."""
    handbook = WaitingHandbook()
    gateway = await serve(handbook, timeout_seconds=30)
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers?")
    async with asyncio.timeout(20):
        await handbook.begun.wait()
    await gateway.aclose()
    await turn(page, 1, "lost")
    assert "The connection broke" in await text_of(page, 1, "end")
    await serve(Handbook(), port=gateway.port)
    await page.wait_for_selector("#away", state="hidden")
    assert await page.locator(".turn").count() == 1, "it is not asked again by itself"
    await page.click("text=Ask again")
    await turn(page, 2)
    assert "two reviewers" in await text_of(page, 2, "answer")


async def test_a_wrong_token_is_asked_for_again_and_a_right_one_lets_in(serve: Serve, open_page: OpenPage) -> None:
    """The page says what is wrong with the token; the token is kept for the tab and is in no address."""
    hashed = hashlib.sha256(b"ep_right").hexdigest()
    gateway = await serve(Handbook(), token_hashes=f"ann:{hashed}")
    page = await open_page(gateway.http_url, connected=False)
    await page.wait_for_selector("#sign-in[open]")
    await page.fill("#token", "ep_wrong")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#sign-in[open]")
    await expect(page.locator("#sign-in-text")).to_contain_text("does not know")
    await page.fill("#token", "ep_right")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#state-model:not([hidden])")
    await ask(page, "How many reviewers?")
    await turn(page, 1)
    assert "ep_right" not in page.url
    assert await page.evaluate("localStorage.length") == 0


async def test_the_installed_page_opens_without_a_gateway_and_says_so(tmp_path: Path, open_page: OpenPage) -> None:
    """The service worker keeps the page itself; opened again without a gateway, it says that it is away."""
    settings = GatewaySettings()
    async with create_gateway_application(Handbook(), settings=settings) as gateway:
        page = await open_page(gateway.http_url)
        await page.evaluate("navigator.serviceWorker.ready.then(() => null)")
        await page.reload()
        await page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    await page.reload()
    await page.wait_for_selector("#away:not([hidden])")
    assert "earpiece serve" in await page.inner_text("#away")
    assert await page.is_visible("#question")


async def test_a_model_that_cannot_be_reached_is_not_called_a_missing_gateway(
    serve: Serve, open_page: OpenPage
) -> None:
    """The page says that it is the model, keeps trying, and the documents can be managed meanwhile."""
    gateway = await serve(library=HANDBOOK, upstream="ws://127.0.0.1:9/v1/realtime", reconnect_attempts=1)
    page = await open_page(gateway.http_url, connected=False)
    await page.wait_for_selector("#state-model[data-state=bad]")
    await expect(page.locator("#away")).to_contain_text("cannot reach its model")
    assert "ws://" not in await page.inner_text("body")
    assert await page.locator(".document").count() > 0


async def test_the_browser_finds_nothing_in_the_way_of_installing_the_page(serve: Serve, open_page: OpenPage) -> None:
    """Manifest, icons and worker are as a browser wants them for an app of its own."""
    gateway = await serve(Handbook())
    page = await open_page(gateway.http_url)
    await page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    tools = await page.context.new_cdp_session(page)
    manifest = await tools.send("Page.getAppManifest")
    assert manifest["url"].endswith("/manifest.webmanifest")
    assert manifest["errors"] == []
    problems = (await tools.send("Page.getInstallabilityErrors"))["installabilityErrors"]
    # The test's browser keeps nothing, and such a window installs nothing; that is all it may have against it.
    assert {problem["errorId"] for problem in problems} <= {"in-incognito"}
