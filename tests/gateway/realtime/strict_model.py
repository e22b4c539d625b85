"""A realtime model that is strict about its rules and free in what it does, for simulations without a socket."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from gateway.realtime.response_slot import FOLLOW_UP_MARK

Event = dict[str, Any]
PLANS = (["say"], ["ours"], ["ours", "ours"], ["say", "ours"], ["ours", "theirs"], ["theirs"], ["ours"], ["say"])


class StrictModel:
    """One response at a time, no response while an output is missing, exact call ids."""

    def __init__(self, choose: Callable[[int], int], *, echoes: bool, vad: bool, names: bool) -> None:
        self.choose = choose
        self.names = names
        self.echoes = echoes
        self.vad = vad
        self.wire: deque[Event] = deque()
        self.session = 0
        self.calls: dict[str, Event] = {}
        self.speaking = False
        self.active: str | None = None
        self.reject_next = ""
        self.interrupts = True
        self._work: Iterator[Event] | None = None
        self._output: list[Event] = []
        self._response: Event = {}
        self._serial = 0
        self.led_to: dict[str, str] = {}

    def id(self, prefix: str) -> str:
        self._serial += 1
        return f"{prefix}_{self._serial}"

    def emit(self, type: str, **fields: Any) -> None:
        self.wire.append({"type": type, "event_id": self.id("event"), **fields})

    def error(self, event: Event, code: str) -> None:
        about = event.get("event_id")
        told = {"event_id": about} if self.names else {}
        self.emit("error", error={"type": "invalid_request_error", "code": code, **told}, really_about=about)

    def take(self, event: Event) -> None:
        match event["type"]:
            case "response.create":
                self.create(event)
            case "response.cancel":
                if self.active is None or event.get("response_id") not in (None, self.active):
                    self.error(event, "response_cancel_not_active")
                else:
                    self.end("cancelled")
            case "conversation.item.create" if event["item"]["type"] == "function_call_output":
                call = self.calls.get(event["item"]["call_id"])
                if call is not None:
                    call["answers"] += 1
            case "session.update":
                detection = {"create_response": self.vad, "interrupt_response": self.interrupts}
                heard = {"turn_detection": {"type": "server_vad", **detection}}
                self.emit("session.updated", session={**event["session"], "audio": {"input": heard}})

    def create(self, event: Event) -> None:
        reject, self.reject_next = self.reject_next, ""
        open_calls = any(not call["answers"] for call in self.calls.values())
        if reject:
            self.error(event, reject)
        elif self.active is not None or self.speaking:
            self.error(event, "conversation_already_has_active_response")
        elif open_calls:
            self.error(event, "function_call_output_pending")
        else:
            self.begin(event.get("response") or {})

    def begin(self, body: Event) -> None:
        self.active = self.id("resp")
        plan = ["say"] if body.get("tool_choice") == "none" else PLANS[self.choose(len(PLANS))]
        metadata = body.get("metadata") if self.echoes else None
        self.led_to[self.active] = (body.get("metadata") or {}).get(FOLLOW_UP_MARK, "")
        self._output = []
        self._response = {"id": self.active, "metadata": metadata, "output": self._output}
        self._work = self.items(self.active, plan)
        self.emit("response.created", response={**self._response, "status": "in_progress"})

    def progress(self) -> None:
        if self._work is None:
            return
        event = next(self._work, None)
        if event is None:
            self.end("completed")
        else:
            self.wire.append(event)

    def end(self, status: str) -> None:
        for item in self._output:
            if item["status"] == "in_progress":
                item["status"] = "incomplete"
                if item["type"] == "function_call":
                    place = {"response_id": self.active, "item_id": item["id"], "call_id": item["call_id"]}
                    self.emit("response.function_call_arguments.done", **place, arguments='{"query": "ha')
        response = {**self._response, "status": status, "output": [dict(item) for item in self._output]}
        self.emit("response.done", response=response)
        self.active = self._work = None

    def items(self, response_id: str, plan: list[str]) -> Iterator[Event]:
        for index, kind in enumerate(plan):
            item: Event = {"id": self.id("item"), "status": "in_progress", "type": "message", "role": "assistant"}
            if kind != "say":
                call_id = self.id("call")
                item |= {"type": "function_call", "name": "knowledge" if kind == "ours" else "lights"}
                item |= {"call_id": call_id, "arguments": ""}
                self.calls[call_id] = {"answers": 0, "ours": kind == "ours", "response": response_id}
            self._output.append(item)
            at = {"response_id": response_id, "output_index": index, "item_id": item["id"]}
            yield {"type": "response.output_item.added", **at, "item": dict(item)}
            yield {"type": "conversation.item.added", "item": dict(item), "previous_item_id": None}
            yield from self.contents(at, item)
            item["status"] = "completed"
            yield {"type": "response.output_item.done", **at, "item": dict(item)}

    def contents(self, at: Event, item: Event) -> Iterator[Event]:
        if item["type"] == "message":
            yield {"type": "response.output_text.delta", **at, "delta": f"words of {at['response_id']}"}
            return
        arguments = json.dumps({"query": item["call_id"]})
        for piece in (arguments[:4], arguments[4:]):
            yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
        item["arguments"] = arguments
        done = {"call_id": item["call_id"], "arguments": arguments}
        yield {"type": "response.function_call_arguments.done", **at, **done}

    def speech(self) -> None:
        self.speaking = not self.speaking
        if self.speaking:
            self.emit("input_audio_buffer.speech_started", item_id=self.id("item"))
            if self.active is not None and self.interrupts:
                self.end("cancelled")
            return
        self.emit("input_audio_buffer.speech_stopped", item_id=self.id("item"))
        answered = all(call["answers"] for call in self.calls.values())
        if self.vad and self.active is None and answered:
            self.begin({})
