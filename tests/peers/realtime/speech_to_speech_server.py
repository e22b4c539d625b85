# mypy: ignore-errors
"""Runs the server of speech-to-speech with a scripted brain in place of its models. Started by the tests.

The brain calls ``knowledge`` for every question, answers with what came back, and speaks some samples of a tone. The
queues, the protocol, the cancellation and the strict order of outputs are the server's own.
"""

import array
import json
import math
import sys
import threading
import time
from queue import Queue

import uvicorn
from openai.types.realtime import RealtimeConversationItemFunctionCall
from openai.types.responses.response_function_tool_call import ResponseFunctionToolCall
from speech_to_speech.api.openai_realtime.pipeline_unit import PipelineUnit
from speech_to_speech.api.openai_realtime.service import RealtimeService
from speech_to_speech.api.openai_realtime.websocket_router import create_app
from speech_to_speech.pipeline.cancel_scope import CancelScope
from speech_to_speech.pipeline.control import is_control_message
from speech_to_speech.pipeline.events import (
    AssistantOutputEvent,
    AssistantResponseDoneEvent,
    SpeechStartedEvent,
    SpeechStoppedEvent,
)
from speech_to_speech.pipeline.messages import AUDIO_RESPONSE_DONE, AudioOutput

TONE = array.array("h", [int(8000 * math.sin(n / 6)) for n in range(1600)]).tobytes()


def last_output(chat):
    """The output of the latest call when it is the latest item of the conversation, else None."""
    items = list(chat.to_responses_api_chat())
    last = items[-1] if items else {}
    return last.get("output") if last.get("type") == "function_call_output" else None


def answer(output):
    results = json.loads(output).get("results") or []
    return f"The documents say: {results[0]['content']}" if results else "The documents say nothing."


def brain(unit, stop):
    calls = 0
    while not stop.is_set():
        request = unit.text_prompt_queue.get()
        if is_control_message(request):
            continue
        output = last_output(request.runtime_config.chat)
        about = {"response_key": request.response_key, "cancel_generation": unit.cancel_scope.generation}
        if output is None:
            calls += 1
            arguments = json.dumps({"query": "How many reviewers?"})
            tool = ResponseFunctionToolCall(
                type="function_call", name="knowledge", call_id=f"call_{calls}", arguments=arguments
            )
            item = {"type": "function_call", "name": tool.name, "call_id": tool.call_id, "arguments": arguments}
            request.runtime_config.chat.add_item(RealtimeConversationItemFunctionCall(**item))
            unit.output_queue.put(AssistantOutputEvent(tools=[tool], **about))
        else:
            unit.output_queue.put(AssistantOutputEvent(text=answer(output), **about))
            for _ in range(3):
                unit.output_queue.put(AudioOutput(audio=TONE, **about))
        unit.output_queue.put(AssistantResponseDoneEvent(**about))
        unit.output_queue.put(AudioOutput(audio=AUDIO_RESPONSE_DONE, **about))


def ears(unit, stop):
    """Loud audio is speech, silence ends it."""
    speaking = False
    while not stop.is_set():
        chunk = unit.input_queue.get()
        if is_control_message(chunk):
            unit.output_queue.put(chunk)
            continue
        samples = array.array("h", chunk[0])
        loud = bool(samples) and max(map(abs, samples)) > 3000
        if loud and not speaking:
            unit.text_output_queue.put(SpeechStartedEvent(audio_start_ms=0, turn_id="t", turn_revision=0))
        elif speaking and not loud:
            unit.text_output_queue.put(SpeechStoppedEvent(duration_s=0.1, turn_id="t", turn_revision=0))
        speaking = loud


def main(port):
    stop, listen = threading.Event(), threading.Event()
    prompts = Queue()
    unit = PipelineUnit(
        index=0,
        service=RealtimeService(text_prompt_queue=prompts, should_listen=listen),
        cancel_scope=CancelScope(),
        should_listen=listen,
        response_playing=threading.Event(),
        input_queue=Queue(),
        output_queue=Queue(),
        text_output_queue=Queue(),
        text_prompt_queue=prompts,
        handlers=[],
    )
    listen.set()
    for work in (brain, ears):
        threading.Thread(target=work, args=(unit, stop), daemon=True).start()
    config = uvicorn.Config(create_app(pool=[unit], stop_event=stop), host="127.0.0.1", port=port, log_level="warning")
    server = uvicorn.Server(config)
    threading.Thread(target=announce, args=(server,), daemon=True).start()
    server.run()


def announce(server):
    while not server.started:
        time.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)


main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
