"""Pipecat, in a running pipeline of its own."""

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway import KnowledgeTool
from gateway.hosts.pipecat import knowledge_function
from tests.gateway.hosts.held_provider import HeldProvider

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it imports audioop
    from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
    from pipecat.frames.frames import (
        Frame,
        FunctionCallCancelFrame,
        FunctionCallFromLLM,
        FunctionCallResultFrame,
        InterruptionFrame,
        LLMContextFrame,
        OutputTransportMessageUrgentFrame,
    )
    from pipecat.pipeline.pipeline import Pipeline
    from pipecat.pipeline.worker import PipelineWorker
    from pipecat.processors.aggregators.llm_context import LLMContext
    from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
    from pipecat.services.llm_service import LLMService
    from pipecat.workers.runner import WorkerRunner

ARGUMENTS = {"query": "How many reviewers?"}


class CallingService(LLMService):
    """Any LLM service, reduced to what matters here: its model calls the tool as soon as it has a context."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMContextFrame):
            call = FunctionCallFromLLM(
                function_name="knowledge", tool_call_id="call_1", arguments=ARGUMENTS, context=frame.context
            )
            await self.run_function_calls([call])
        else:
            await self.push_frame(frame, direction)


class Frames(FrameProcessor):
    """Keeps every frame that comes to the transport."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Frame] = []
        self.came = asyncio.Condition()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        async with self.came:
            self.seen.append(frame)
            self.came.notify_all()
        await self.push_frame(frame, direction)

    def of(self, kind: type[Frame]) -> list[Any]:
        return [frame for frame in self.seen if isinstance(frame, kind)]

    async def wait_for(self, kind: type[Frame]) -> None:
        async with asyncio.timeout(30), self.came:
            await self.came.wait_for(lambda: self.of(kind))


@asynccontextmanager
async def pipeline(tool: KnowledgeTool, context: LLMContext) -> AsyncIterator[tuple[PipelineWorker, Frames]]:
    frames = Frames()
    worker = PipelineWorker(Pipeline([CallingService(), frames]), enable_rtvi=False, cancel_on_idle_timeout=False)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    try:
        await worker.queue_frame(LLMContextFrame(context))
        yield worker, frames
    finally:
        await worker.cancel()
        await running


def context_with(tool: KnowledgeTool) -> LLMContext:
    function = knowledge_function(tool, owner_id="ada")
    assert function is not None
    return LLMContext([{"role": "user", "content": "How many reviewers?"}], tools=ToolsSchema([function]))


async def test_the_result_is_delivered_once_and_the_citations_as_a_frame(tool: KnowledgeTool) -> None:
    """The transport has the links for the screen before the model has the text for the voice."""
    async with pipeline(tool, context_with(tool)) as (_, frames):
        await frames.wait_for(FunctionCallResultFrame)
    (result,) = frames.of(FunctionCallResultFrame)
    assert result.result["status"] == "ok"
    assert "Two reviewers, ada." in result.result["results"][0]["content"]
    (shown,) = frames.of(OutputTransportMessageUrgentFrame)
    assert shown.message["type"] == "knowledge.citations"
    assert shown.message["citations"][0]["uri"] == "https://docs.example.com/releases"
    assert "https://docs.example.com" not in str(result.result)
    kinds = [type(frame) for frame in frames.seen]
    assert kinds.index(OutputTransportMessageUrgentFrame) < kinds.index(FunctionCallResultFrame)


async def test_an_interruption_cancels_the_retrieval(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """Pipecat settles the call as cancelled, the provider is told, and no late result follows."""
    provider.hold()
    async with pipeline(tool, context_with(tool)) as (worker, frames):
        async with asyncio.timeout(30):
            await provider.entered.wait()
            await worker.queue_frame(InterruptionFrame())
            await provider.cancelled.wait()
            await frames.wait_for(FunctionCallCancelFrame)
    assert not frames.of(FunctionCallResultFrame)


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ({"role": "user", "content": "And on Fridays?"}, True),
        ({"role": "assistant", "content": "Two."}, True),
        ({"role": "assistant", "content": "", "tool_calls": [{"id": "call_1"}]}, False),
        ({"role": "tool", "content": "{}", "tool_call_id": "call_1"}, False),
    ],
)
async def test_a_turn_ends_with_spoken_words(tool: KnowledgeTool, provider: HeldProvider, said: Any, new: bool) -> None:
    """Calls that follow one another without a word between them share a turn, and with it the budget of calls."""
    context = context_with(tool)
    async with pipeline(tool, context) as (worker, frames):
        await frames.wait_for(FunctionCallResultFrame)
        context.add_message(said)
        frames.seen.clear()
        await worker.queue_frame(LLMContextFrame(context))
        await frames.wait_for(FunctionCallResultFrame)
    (result,) = frames.of(FunctionCallResultFrame)
    assert result.result["status"] == ("ok" if new else "repeated")
    assert len(provider.asked) == (2 if new else 1)


async def test_without_a_provider_there_is_no_function(empty_tool: KnowledgeTool) -> None:
    """A host offers what there is."""
    assert knowledge_function(empty_tool) is None
