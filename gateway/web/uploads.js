// Files on their way into the library: several at once, each with its progress, its own sentence, and a way to stop it.

import { element } from "./dom.js";

const AT_ONCE = 3;
const ENDS = { done: "imported", known: "here already", failed: "could not be imported", cancelled: "cancelled" };

export class Uploads {
  // `send(file, onprogress, signal)` resolves to `{status, document}`; `onadded()` when a document is there, and
  // `onsummary(text)` when files begin and when the last of them has ended.
  constructor(list, { send, onadded, onsummary }) {
    this.list = list;
    this.send = send;
    this.on = { added: onadded, summary: onsummary };
    this.limit = Infinity;
    this.queue = [];
    this.running = new Set();
    this.counts = {};
  }

  // Whether a file of this name is on its way from here.
  sends(name) {
    return [...this.running, ...this.queue].some((entry) => entry.file.name === name);
  }

  add(files) {
    if (!files.length) return;
    if (!this.running.size) this.#begin();
    for (const file of files) {
      const entry = new Entry(file, { oncancel: () => this.#cancel(entry) });
      this.list.append(entry.node);
      this.queue.push(entry);
    }
    this.on.summary(`Importing ${counted(this.running.size + this.queue.length)}.`);
    this.#next();
  }

  // What went well before needs no more attention; what did not stays until it is dismissed.
  #begin() {
    this.counts = { done: 0, known: 0, failed: 0, cancelled: 0 };
    for (const node of this.list.querySelectorAll(".finished")) node.remove();
  }

  #next() {
    while (this.running.size < AT_ONCE && this.queue.length) this.#run(this.queue.shift());
  }

  async #run(entry) {
    this.running.add(entry);
    try {
      if (entry.file.size > this.limit) throw new Error(`It is larger than ${Math.round(this.limit / 2 ** 20)} MB. Split it into smaller files.`);
      const { status, document } = await this.send(entry.file, (part) => entry.progress(part), entry.signal);
      const known = status === "unchanged";
      entry.end("finished", known ? "was here already" : `${status}: “${document.title}”`);
      this.counts[known ? "known" : "done"]++;
      await this.on.added();
    } catch (problem) {
      if (problem.code === "cancelled") this.#cancelled(entry);
      else this.#failed(entry, problem);
    }
    this.running.delete(entry);
    this.#ended();
  }

  #failed(entry, problem) {
    // The file's name stands above it already.
    entry.end("failed", problem.message.replace(`${entry.file.name}: `, ""));
    this.counts.failed++;
  }

  #cancelled(entry) {
    entry.end("cancelled", "cancelled; nothing of it was kept");
    this.counts.cancelled++;
  }

  #cancel(entry) {
    if (!this.queue.includes(entry)) {
      entry.abort();
      return;
    }
    this.queue.splice(this.queue.indexOf(entry), 1);
    this.#cancelled(entry);
    this.#ended();
  }

  #ended() {
    this.#next();
    if (this.running.size) return;
    const parts = Object.entries(this.counts).filter(([, count]) => count);
    this.on.summary(`${parts.map(([what, count]) => `${counted(count)} ${ENDS[what]}`).join(", ")}.`);
  }
}

function counted(files) {
  return files === 1 ? "1 file" : `${files} files`;
}

class Entry {
  constructor(file, { oncancel }) {
    this.file = file;
    this.controller = new AbortController();
    this.bar = element("progress", { max: "1", value: "0", "aria-label": `Sending ${file.name}` });
    this.state = element("span", { class: "note" }, "waiting");
    this.button = element("button", { type: "button", class: "quiet", "aria-label": `Cancel ${file.name}` }, "Cancel");
    this.button.addEventListener("click", oncancel);
    this.node = element("li", { class: "upload under-way" }, element("span", { class: "name", dir: "auto" }, file.name), this.state, this.bar, this.button);
  }

  get signal() {
    return this.controller.signal;
  }

  abort() {
    this.controller.abort();
  }

  progress(part) {
    if (part === null) {
      this.bar.removeAttribute("value");
      this.button.hidden = true;
    } else this.bar.value = part;
    this.state.textContent = part === null ? "reading" : `sending ${Math.round(part * 100)} %`;
  }

  end(kind, text) {
    this.bar.remove();
    this.node.classList.replace("under-way", kind);
    this.state.textContent = text;
    const away = element("button", { type: "button", class: "quiet", "aria-label": `Dismiss ${this.file.name}` }, "×");
    away.addEventListener("click", () => this.node.remove());
    const hadFocus = document.activeElement === this.button;
    this.button.replaceWith(away);
    if (hadFocus) away.focus();
  }
}
