"""The knowledge tool in a Pipecat pipeline: a speech-to-speech service, here the embedded model, asked in text."""

import asyncio

from handbook_tool import QUESTIONS, handbook_tool  # type: ignore[import-not-found]
from loguru import logger
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import (
    Frame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMTextFrame,
    OutputTransportMessageUrgentFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.openai.realtime.events import SessionProperties
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner

from gateway import KnowledgeTool
from gateway.hosts.pipecat import knowledge_function
from gateway.realtime.embedded_model import EmbeddedModel


class Screen(FrameProcessor):
    """Stands where a transport stands: prints what the user would see, and gathers what the user would hear."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: asyncio.Queue[str] = asyncio.Queue()
        self._text = ""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMTextFrame):
            self._text += frame.text
        elif isinstance(frame, OutputTransportMessageUrgentFrame):
            print(f"Citations  {[citation['uri'] for citation in frame.message['citations']]}")
        elif isinstance(frame, LLMFullResponseEndFrame) and self._text:
            self.answers.put_nowait(self._text)
            self._text = ""
        await self.push_frame(frame, direction)


async def answer(url: str, tool: KnowledgeTool, question: str) -> str:
    """Hold one conversation; a pipeline that listens to a microphone would go on with the next turn."""
    settings = OpenAIRealtimeLLMService.Settings(session_properties=SessionProperties(output_modalities=["text"]))
    voice = OpenAIRealtimeLLMService(base_url=url, api_key="none needed", settings=settings)
    knowledge = knowledge_function(tool)
    context = LLMContext([{"role": "user", "content": question}], tools=ToolsSchema([knowledge] if knowledge else []))
    aggregators, screen = LLMContextAggregatorPair(context), Screen()
    pipeline = Pipeline([aggregators.user(), voice, screen, aggregators.assistant()])
    worker, runner = PipelineWorker(pipeline, enable_rtvi=False), WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    await worker.queue_frame(LLMContextFrame(context))
    said = await screen.answers.get()
    await worker.cancel()
    await running
    return said


async def main() -> None:
    logger.remove()
    model = EmbeddedModel()
    await model.start()
    async with handbook_tool() as tool:
        for question in QUESTIONS:
            print(f"You        {question}")
            print(f"Assistant  {await answer(model.url, tool, question)}")
    await model.aclose()


asyncio.run(main())
