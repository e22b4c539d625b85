"""The knowledge tool in a loop of your own: a raw websocket to a realtime model, here the embedded one."""

import asyncio
import json

from handbook_tool import QUESTIONS, handbook_tool  # type: ignore[import-not-found]
from websockets.asyncio.client import ClientConnection, connect

from gateway.hosts.plain import KnowledgeConversation
from gateway.realtime.embedded_model import EmbeddedModel


async def answer(socket: ClientConnection, knowledge: KnowledgeConversation, question: str) -> str:
    async def send(type: str, **fields: object) -> None:
        await socket.send(json.dumps({"type": type, **fields}))

    knowledge.new_turn()
    content = [{"type": "input_text", "text": question}]
    await send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
    await send("response.create")
    async for message in socket:
        event = json.loads(message)
        if event["type"] != "response.done":
            continue
        (item,) = event["response"]["output"]
        if item["type"] != "function_call":
            return str(item["content"][0]["text"])
        outcome = await knowledge.call(item["arguments"])  # citations for the screen are outcome.citations
        output = {"type": "function_call_output", "call_id": item["call_id"], "output": outcome.output}
        await send("conversation.item.create", item=output)
        await send("response.create")
    raise ConnectionError("the model has closed the connection")


async def main() -> None:
    model = EmbeddedModel()
    await model.start()
    async with handbook_tool() as tool, connect(model.url) as socket:
        knowledge = KnowledgeConversation(tool)
        session = {"type": "realtime", "output_modalities": ["text"], "tools": [knowledge.definition]}
        await socket.send(json.dumps({"type": "session.update", "session": session}))
        for question in QUESTIONS:
            print(f"You        {question}")
            print(f"Assistant  {await answer(socket, knowledge, question)}")
    await model.aclose()


asyncio.run(main())
