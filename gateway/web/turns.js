// What was asked and answered, as the gateway's events tell it. No DOM and no network in here.
//
// phase: "queued" | "listening" -> "asked" -> "looking" -> "asked" -> "answering"
//        -> "done" | "interrupted" | "failed" | "lost"

const RUNNING = new Set(["listening", "asked", "looking", "answering"]);
const REMEMBERED_TURNS = 12;
const HOLDING_MARK = "earpiece_holding";

export class Turns {
  // `onchange(turn)` is called with each turn that is new or different.
  constructor(onchange, now = () => performance.now()) {
    this.list = [];
    this.onchange = onchange;
    this.now = now;
    this.byCall = new Map();
    this.byResponse = new Map();
    this.byTurn = new Map();
    this.holding = new Set();
  }

  // The last turn that the model knows of: one that waits for its predecessor to end is not yet it.
  get current() {
    return this.list.findLast((turn) => turn.phase !== "queued");
  }

  get running() {
    return Boolean(this.current && RUNNING.has(this.current.phase));
  }

  begin(question, { phase = "asked", spoken = false, item = null } = {}) {
    const turn = {
      number: this.list.length + 1, question, spoken, item, phase, answer: "", problem: "",
      lookups: [], sources: [], citations: [], ahead: "", hidden: 0, measured: null, at: { begun: this.now(), asked: this.now() },
    };
    this.list.push(turn);
    this.onchange(turn);
    return turn;
  }

  // A queued or spoken question is complete and with the model now.
  asked(turn) {
    turn.phase = "asked";
    turn.at.asked = this.now();
    this.onchange(turn);
  }

  // The person stopped it, or spoke over it.
  interrupt() {
    if (this.running) this.#end(this.current, "interrupted");
  }

  lose() {
    for (const turn of this.list.slice(-3)) {
      if (RUNNING.has(turn.phase) || turn.phase === "queued") this.#end(turn, "lost");
    }
    for (const known of [this.byCall, this.byResponse, this.byTurn, this.holding]) known.clear();
  }

  take(event) {
    HANDLERS[event.type]?.call(this, event);
  }

  // What a new session has to be told so that it knows what was said.
  history() {
    return this.list.slice(-REMEMBERED_TURNS).flatMap((turn) => {
      if (!turn.question || !turn.answer) return [];
      return [message("user", "input_text", turn.question), message("assistant", "output_text", turn.answer)];
    });
  }

  // Whether an event is about a response that only bridges a slow look-up; it is no answer, and ends no turn.
  isHolding(event) {
    return this.holding.has(event.response_id ?? event.response?.id);
  }

  // Something is looked up while the person still speaks.
  ahead(event) {
    if (!this.running) return;
    this.byTurn.set(event.turn_id, this.current);
    this.current.ahead = event.query;
    this.onchange(this.current);
  }

  started(event) {
    const turn = this.running ? this.current : undefined;
    if (!turn) return;
    const lookup = { query: event.query, at: this.now(), status: "running", milliseconds: null, slow: 0, ahead: false };
    turn.lookups.push(lookup);
    turn.phase = "looking";
    this.byTurn.set(event.turn_id, turn);
    this.byCall.set(event.call_id, { turn, lookup });
    this.onchange(turn);
  }

  slow(event) {
    const found = this.byCall.get(event.call_id);
    if (!found) return;
    found.lookup.slow = event.waited_ms;
    this.onchange(found.turn);
  }

  // The gateway's own moments of a turn: milliseconds from the last word. It may have ended before.
  measured(event) {
    const turn = this.byTurn.get(event.turn_id);
    if (!turn) return;
    turn.measured = event.at_ms;
    this.onchange(turn);
  }

  completed(event) {
    this.#lookup(event, event.status, (turn, lookup) => {
      lookup.milliseconds = event.elapsed_ms;
      // The gateway counts what was adopted over the whole turn.
      const before = turn.lookups.filter((one) => one.ahead).length;
      lookup.ahead = (event.prefetch?.adopted ?? 0) > before;
      turn.hidden = event.prefetch?.hidden_ms ?? 0;
      turn.sources.push(...(event.sources ?? []).filter((source) => !turn.sources.some((known) => same(known, source))));
    });
  }

  cited(event) {
    const turn = this.byCall.get(event.call_id)?.turn ?? this.current;
    if (!turn) return;
    const known = new Set(turn.citations.map((citation) => citation.id));
    turn.citations.push(...event.citations.filter((citation) => !known.has(citation.id)));
    this.onchange(turn);
  }

  superseded(event) {
    this.#lookup(event, "superseded", () => {});
  }

  responseBegan(event) {
    if (HOLDING_MARK in (event.response.metadata ?? {})) this.holding.add(event.response.id);
    if (this.current) this.byResponse.set(event.response.id, this.current);
  }

  // Whether what this response says is still wanted.
  wants(responseId) {
    return RUNNING.has(this.byResponse.get(responseId)?.phase);
  }

  words(event) {
    const turn = this.byResponse.get(event.response_id);
    if (!turn || !RUNNING.has(turn.phase) || this.isHolding(event)) return;
    turn.at.words ??= this.now();
    turn.phase = "answering";
    turn.answer += event.delta;
    this.onchange(turn);
  }

  responseDone(event) {
    if (this.isHolding(event)) return;
    const turn = this.byResponse.get(event.response.id) ?? this.current;
    this.byResponse.delete(event.response.id);
    if (!turn || !RUNNING.has(turn.phase)) return;
    const status = event.response.status;
    if (status === "failed" || status === "incomplete") turn.problem = failure(event.response);
    this.#end(turn, { completed: "done", cancelled: "interrupted" }[status] ?? "failed");
  }

  speechStarted(event) {
    this.interrupt();
    this.begin("", { spoken: true, phase: "listening", item: event.item_id });
  }

  speechStopped() {
    if (this.current?.phase === "listening") this.asked(this.current);
  }

  heard(event) {
    const turn = this.list.findLast((one) => one.spoken && one.item === event.item_id);
    if (!turn) return;
    turn.question = event.transcript ?? turn.question + (event.delta ?? "");
    this.onchange(turn);
  }

  failed(event) {
    if (event.error?.code === "response_cancel_not_active" || !this.running) return;
    this.current.problem = event.error?.message || "The model reported an error.";
    this.#end(this.current, "failed");
  }

  #lookup(event, status, change) {
    const found = this.byCall.get(event.call_id);
    if (!found) return;
    found.lookup.status = status;
    found.lookup.ended = this.now();
    if (found.turn.phase === "looking") found.turn.phase = "asked";
    change(found.turn, found.lookup);
    this.onchange(found.turn);
  }

  #end(turn, phase) {
    turn.phase = phase;
    turn.at.done = this.now();
    this.onchange(turn);
  }
}

const HANDLERS = {
  "knowledge.prefetch": Turns.prototype.ahead,
  "knowledge.started": Turns.prototype.started,
  "knowledge.slow": Turns.prototype.slow,
  "knowledge.completed": Turns.prototype.completed,
  "knowledge.citations": Turns.prototype.cited,
  "knowledge.superseded": Turns.prototype.superseded,
  "knowledge.turn": Turns.prototype.measured,
  "response.created": Turns.prototype.responseBegan,
  "response.output_text.delta": Turns.prototype.words,
  "response.output_audio_transcript.delta": Turns.prototype.words,
  "response.done": Turns.prototype.responseDone,
  "input_audio_buffer.speech_started": Turns.prototype.speechStarted,
  "input_audio_buffer.speech_stopped": Turns.prototype.speechStopped,
  "conversation.item.input_audio_transcription.delta": Turns.prototype.heard,
  "conversation.item.input_audio_transcription.completed": Turns.prototype.heard,
  error: Turns.prototype.failed,
};

function message(role, type, text) {
  return { type: "conversation.item.create", item: { type: "message", role, content: [{ type, text }] } };
}

function same(one, other) {
  return one.title === other.title && one.locator === other.locator;
}

function failure(response) {
  const code = response.status_details?.error?.code ?? response.status_details?.reason ?? "";
  if (code === "connection_lost") return "The connection to the model was lost before it had answered.";
  return code ? `The model could not answer (${code}).` : "The model could not answer.";
}
