// The websocket to the gateway: opens it, opens it again when it is lost, and says which of these it is.

const FIRST_WAIT_MILLISECONDS = 400;
const LONGEST_WAIT_MILLISECONDS = 8000;

export class Connection {
  // `onstate(state)` gets "connecting", "open", "away" or "refused"; `onevent(event)` each event of the gateway.
  constructor({ token, onstate, onevent }) {
    this.token = token;
    this.onstate = onstate;
    this.onevent = onevent;
    this.state = "connecting";
    this.attempt = 0;
    addEventListener("online", () => this.retry());
  }

  open() {
    clearTimeout(this.timer);
    this.#change("connecting");
    const socket = new WebSocket(this.#address(), this.#protocols());
    this.socket = socket;
    socket.addEventListener("open", () => this.#opened(socket));
    socket.addEventListener("message", (message) => socket === this.socket && this.onevent(JSON.parse(message.data)));
    socket.addEventListener("close", () => socket === this.socket && this.#lost());
  }

  // Tries at once, for example because a person asked for it.
  retry() {
    if (this.state === "open") return;
    this.#abandon();
    this.attempt = 0;
    this.open();
  }

  send(event) {
    if (this.state !== "open") return false;
    this.socket.send(JSON.stringify(event));
    return true;
  }

  // Bytes that wait to be sent: audio is dropped rather than sent late.
  get waiting() {
    return this.socket?.bufferedAmount ?? 0;
  }

  #address() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    return `${scheme}://${location.host}/v1/realtime?knowledge_events=1`;
  }

  // A browser cannot set headers on a websocket, so a token travels as a subprotocol, as OpenAI's SDKs do it.
  #protocols() {
    const token = this.token();
    return token ? ["realtime", `openai-insecure-api-key.${token}`] : ["realtime"];
  }

  #opened(socket) {
    if (socket !== this.socket) return;
    this.attempt = 0;
    this.#change("open");
  }

  async #lost() {
    this.socket = undefined;
    const refused = await this.#isRefused();
    if (this.socket) return;
    this.#change(refused ? "refused" : "away");
    if (!refused) this.timer = setTimeout(() => this.open(), this.#wait());
  }

  // A failed handshake tells a page nothing, so the plain HTTP side is asked whether it is the token.
  async #isRefused() {
    const headers = this.token() ? { Authorization: `Bearer ${this.token()}` } : {};
    try {
      return (await fetch("/v1/health", { headers, cache: "no-store" })).status === 401;
    } catch {
      return false;
    }
  }

  #wait() {
    const step = Math.min(LONGEST_WAIT_MILLISECONDS, FIRST_WAIT_MILLISECONDS * 2 ** this.attempt++);
    return step * (0.75 + Math.random() / 2);
  }

  #abandon() {
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
  }

  #change(state) {
    this.state = state;
    this.onstate(state);
  }
}
