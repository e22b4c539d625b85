// The documents, some at a time and filtered. Rows that did not change stay as they are, so that focus stays, too.

import { byId, placeChildren } from "./dom.js";
import { comingRow, documentRow, refusedRow } from "./document_rows.js";

const STEP = 50;
const MOST_AT_ONCE = 200;
const TYPING_MILLISECONDS = 150;
const WATCHING_MILLISECONDS = 2000;
const FILTERED_FROM = 10;

export class DocumentList {
  // `on` has what the buttons of the rows do; `sends(name)` says whether this page itself sends that file.
  constructor(library, { on, sends }) {
    this.library = library;
    this.on = on;
    this.sends = sends;
    this.words = "";
    this.wanted = STEP;
    this.asked = 0;
    this.rows = new Map();
    byId("filter").addEventListener("input", () => this.#typed());
    byId("more").addEventListener("click", () => this.#more());
  }

  // Shows what there is now and returns it. Of several calls the last one counts; the others return null.
  async refresh() {
    const number = ++this.asked;
    const found = await this.#fetched();
    if (number !== this.asked) return null;
    this.#show(found);
    return found;
  }

  clear() {
    this.rows.clear();
    for (const id of ["documents", "refused", "coming"]) byId(id).replaceChildren();
    for (const id of ["filter", "more"]) byId(id).hidden = true;
  }

  // Where focus goes when the row that had it is gone: to the row that took its place.
  focusNear(index) {
    const buttons = [...byId("documents").querySelectorAll(".remove")];
    (buttons[Math.min(index, buttons.length - 1)] ?? byId("files")).focus();
  }

  indexOf(document) {
    return [...byId("documents").children].indexOf(this.rows.get(document.id)?.node);
  }

  async #fetched() {
    const ask = (offset) => this.library.list({ words: this.words, offset, limit: Math.min(MOST_AT_ONCE, this.wanted - offset) });
    const found = await ask(0);
    while (found.documents.length < Math.min(this.wanted, found.matching)) {
      const next = (await ask(found.documents.length)).documents;
      if (!next.length) break;
      found.documents.push(...next);
    }
    return found;
  }

  #show({ documents, matching, total, quarantined, importing }) {
    placeChildren(byId("documents"), documents.map((document) => this.#kept(document.id, document, documentRow)));
    placeChildren(byId("refused"), quarantined.map((file) => this.#kept(`refused ${file.id}`, file, refusedRow)));
    const coming = importing.filter((file) => !this.sends(file.name));
    byId("coming").replaceChildren(...coming.map(comingRow));
    byId("filter").hidden = total <= FILTERED_FROM && !this.words;
    byId("library-count").textContent = total ? (matching < total ? `${matching} of ${total}` : String(total)) : "";
    byId("more").hidden = documents.length >= matching;
    byId("more").textContent = `Show ${Math.min(STEP, matching - documents.length)} more of ${matching}`;
    clearTimeout(this.watch);
    if (coming.length) this.watch = setTimeout(() => this.refresh().catch(() => {}), WATCHING_MILLISECONDS);
  }

  #kept(key, content, make) {
    const text = JSON.stringify(content);
    const known = this.rows.get(key);
    if (known?.text === text) return known.node;
    const node = make(content, this.on);
    this.rows.set(key, { text, node });
    return node;
  }

  #typed() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.words = byId("filter").value.trim();
      this.wanted = STEP;
      this.on.filtered();
    }, TYPING_MILLISECONDS);
  }

  async #more() {
    const shown = byId("documents").children.length;
    this.wanted += STEP;
    await this.on.filtered();
    if (byId("more").hidden) byId("documents").children[shown]?.querySelector("button")?.focus();
  }
}
