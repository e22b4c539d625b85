"""The same question by two callers, two honest answers: a help desk with published and draft articles.

Runs in a temporary folder; nothing else needs to run. Support reads drafts, a customer does not, and neither can tell
the gateway who they are except by their token.
"""

import asyncio
import hashlib
import secrets
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import aiohttp

from gateway import create_gateway_application
from gateway.conversation import Conversation
from gateway.settings import GatewaySettings
from knowledge_service.configuration import OpenService, open_service
from knowledge_service.sync import SyncWorker

HERE = Path(__file__).parent
QUESTION = "How long does a refund take?"
LATER = "Who signs refunds over 500 euros?"


def prepare(home: Path) -> Path:
    """The database of the help desk, and the file that describes the service over it."""
    with closing(sqlite3.connect(home / "desk.sqlite")) as database:
        database.executescript((HERE / "desk.sql").read_text())
    return Path(shutil.copy(HERE / "knowledge.yaml", home))


async def ask(url: str, token: str, question: str = QUESTION) -> str:
    """One question over a websocket, as any realtime client asks it."""
    session = {"type": "realtime", "output_modalities": ["text"]}
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http,
        http.ws_connect(f"{url}?knowledge_events=1") as socket,
    ):
        await socket.send_json({"type": "session.update", "session": session})
        return (await Conversation(socket).answer(question)).answer


async def publish(home: Path, opened: OpenService) -> None:
    """The host publishes an article with its own SQL; the trigger tells the index."""
    with closing(sqlite3.connect(home / "desk.sqlite")) as database, database:
        database.execute("update kb_article set status = 'published', revision = revision + 1 where id = 2")
    await SyncWorker(opened.service, opened.outbox).drain()


async def main(home: Path) -> None:
    async with open_service(prepare(home)) as opened:
        await opened.service.reindex_source("articles")
        tokens = {owner: secrets.token_urlsafe() for owner in ("casey", "sam")}
        hashes = ",".join(f"{owner}:{hashlib.sha256(token.encode()).hexdigest()}" for owner, token in tokens.items())
        async with create_gateway_application(opened.service, settings=GatewaySettings(token_hashes=hashes)) as gateway:
            print(QUESTION)
            for owner, token in tokens.items():
                print(f"  {owner}: {await ask(gateway.url, token)}")
            await publish(home, opened)
            print(f"The draft is published. {LATER}")
            print(f"  casey: {await ask(gateway.url, tokens['casey'], LATER)}")
        if opened.audit is not None:
            print(f"The audit log is whole: {opened.audit.verify().lines} entries.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
