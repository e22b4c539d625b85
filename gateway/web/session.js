// One conversation with the model: asks, interrupts, and starts again where it was after a lost connection.

import { Connection } from "./connection.js";
import { Turns } from "./turns.js";

const LONGEST_CANCEL_MILLISECONDS = 2000;
const EMBEDDED = "earpiece-embedded";

export class Session {
  // `onstate(state)`, `onturn(turn)`, `onmodel({name, problem})` and `onaudio(base64, item)` tell what happens.
  constructor({ token, onstate, onturn, onmodel, onaudio, onspeech }) {
    this.on = { onstate, onturn, onmodel, onaudio, onspeech };
    this.turns = new Turns(onturn);
    this.modalities = ["text"];
    this.spoken = false;
    this.model = "";
    this.problem = "";
    this.busy = false;
    this.queue = [];
    this.connection = new Connection({
      token,
      onstate: (state) => this.#stateChanged(state),
      onevent: (event) => this.#take(event),
    });
  }

  get isEmbedded() {
    return this.model === EMBEDDED;
  }

  open() {
    this.connection.open();
  }

  // Asks; what is still being answered is stopped first. False when there is no gateway to ask.
  ask(question, { spoken = false } = {}) {
    if (this.connection.state !== "open") return false;
    this.interrupt();
    const turn = this.turns.begin(question, { spoken, phase: "queued" });
    this.queue.push(turn);
    this.#flush();
    return true;
  }

  // Stops the answer. `heard` is {item, milliseconds} of speech that was cut off, so that the model knows it too.
  interrupt(heard = null) {
    if (heard?.item) {
      this.connection.send({ type: "conversation.item.truncate", item_id: heard.item, content_index: 0, audio_end_ms: heard.milliseconds });
    }
    if (!this.turns.running) return;
    this.turns.interrupt();
    if (!this.busy) return;
    this.connection.send({ type: "response.cancel" });
    clearTimeout(this.patience);
    this.patience = setTimeout(() => this.#idle(), LONGEST_CANCEL_MILLISECONDS);
  }

  speakAnswers(wanted) {
    this.modalities = wanted ? ["audio"] : ["text"];
    this.#configure();
  }

  sendAudio(base64) {
    // A gateway that does not keep up would hear everything late; a gap is better.
    if (this.connection.waiting < 500_000) this.connection.send({ type: "input_audio_buffer.append", audio: base64 });
  }

  #stateChanged(state) {
    if (state === "open") this.#resume();
    else {
      this.busy = false;
      this.queue = [];
      this.turns.lose();
    }
    this.on.onstate(state, this.problem);
  }

  #resume() {
    this.#configure();
    for (const event of this.turns.history()) this.connection.send(event);
  }

  #configure() {
    this.connection.send({ type: "session.update", session: { type: "realtime", output_modalities: this.modalities } });
  }

  #take(event) {
    if (event.type === "input_audio_buffer.speech_started") this.on.onspeech();
    if (event.type === "response.output_audio.delta") this.#play(event);
    this.turns.take(event);
    if (!this.turns.isHolding(event)) HANDLERS[event.type]?.(this, event);
  }

  // A holding sentence is outside the conversation: the model has no item of it that could be cut off.
  #play(event) {
    if (this.turns.wants(event.response_id)) this.on.onaudio(event.delta, this.turns.isHolding(event) ? null : event.item_id);
  }

  began() {
    this.busy = true;
  }

  ended() {
    this.#idle();
  }

  introduced(session) {
    this.model = session.model ?? this.model;
    this.problem = "";
    this.spoken = (session.output_modalities ?? []).includes("audio");
    this.on.onmodel({ name: this.model, problem: "" });
  }

  failed(error) {
    if (error?.code === "model_unavailable") {
      this.problem = error.message;
      this.on.onmodel({ name: this.model, problem: error.message });
    }
    if (error?.type === "invalid_request_error") this.#idle();
  }

  #idle() {
    clearTimeout(this.patience);
    this.busy = false;
    this.#flush();
  }

  #flush() {
    if (this.busy || !this.queue.length) return;
    const turn = this.queue.pop();
    // Only the last of several questions asked in a hurry is still wanted.
    for (const older of this.queue.splice(0)) older.phase = "interrupted";
    this.busy = true;
    this.turns.asked(turn);
    const content = [{ type: "input_text", text: turn.question }];
    this.connection.send({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
    this.connection.send({ type: "response.create" });
  }
}

const HANDLERS = {
  "session.created": (session, event) => session.introduced(event.session),
  "session.updated": (session, event) => session.introduced(event.session),
  "response.created": (session) => session.began(),
  "response.done": (session) => session.ended(),
  error: (session, event) => session.failed(event.error),
};
