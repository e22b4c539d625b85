# mypy: ignore-errors
"""Talks to a DashScope realtime server through the vendor's own SDK: session, a tool call, its output, the answer.

Prints each event type, and at the end the answer. Started by the tests.
"""

import json
import queue
import sys

from dashscope.audio.qwen_omni import MultiModality, OmniRealtimeCallback, OmniRealtimeConversation

TOOL = {"name": "knowledge", "description": "", "parameters": {"type": "object", "properties": {}}}


class Events(OmniRealtimeCallback):
    def __init__(self):
        self.queue = queue.Queue()

    def on_open(self):
        pass

    def on_close(self, close_status_code, close_msg):
        pass

    def on_event(self, message):
        self.queue.put(message)

    def until(self, kind):
        while True:
            event = self.queue.get(timeout=10)
            print(event["type"], file=sys.stderr)
            if event["type"] == kind:
                return event


def main(url):
    events = Events()
    talk = OmniRealtimeConversation(model="qwen3.5-omni-flash-realtime", callback=events, url=url, api_key="sk-test")
    talk.connect()
    events.until("session.created")
    tools = [{"type": "function", "function": TOOL}]
    talk.update_session(output_modalities=[MultiModality.TEXT, MultiModality.AUDIO], voice="Cherry", tools=tools)
    events.until("session.updated")
    content = [{"type": "input_text", "text": "How many reviewers?"}]
    talk.create_item({"type": "message", "role": "user", "content": content})
    talk.create_response()
    call = events.until("response.function_call_arguments.done")
    events.until("response.done")
    output = json.dumps({"results": [{"content": "Two."}]})
    talk.create_item({"type": "function_call_output", "call_id": call["call_id"], "output": output})
    talk.create_response()
    print(events.until("response.audio_transcript.done")["transcript"])
    events.until("response.done")
    talk.close()


main(sys.argv[1])
