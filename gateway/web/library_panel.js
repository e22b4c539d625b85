// The panel of documents: add by choosing or dropping, watch the import, read what is there, remove.

import { byId, bytes, element } from "./dom.js";

export class LibraryPanel {
  constructor(library, { onchange }) {
    this.library = library;
    this.onchange = onchange;
    this.limit = Infinity;
    this.waiting = Promise.resolve();
    byId("files").addEventListener("change", (event) => this.#take(event.target));
    this.#watchDrops();
  }

  async refresh() {
    try {
      const { documents, maxUploadBytes } = await this.library.list();
      this.limit = maxUploadBytes;
      byId("limit").textContent = `${Math.round(maxUploadBytes / 2 ** 20)} MB`;
      this.#show(documents);
    } catch (problem) {
      this.#unavailable(problem);
    }
  }

  #show(documents) {
    byId("library").dataset.mode = "open";
    byId("library-count").textContent = documents.length ? String(documents.length) : "";
    byId("library-note").textContent = documents.length ? "" : "No documents yet.";
    byId("documents").replaceChildren(...documents.map((document) => this.#row(document)));
  }

  #unavailable(problem) {
    if (problem.status === 404) {
      byId("library").dataset.mode = "absent";
      byId("documents").replaceChildren();
      byId("library-note").textContent = "This gateway answers from another system; its documents are managed there.";
    } else if (problem.status) {
      byId("library-note").textContent = problem.message;
    }
  }

  #row(document) {
    const remove = element("button", { type: "button", class: "quiet remove", "aria-label": `Remove ${document.title}` }, "Remove");
    remove.addEventListener("click", () => this.#remove(document));
    const head = element("div", { class: "head" }, element("span", { class: "title" }, document.title), remove);
    const row = element("li", { class: "document", dir: "auto" }, head);
    if (document.summary) row.append(element("p", { class: "summary" }, document.summary));
    row.append(element("p", { class: "note" }, facts(document)));
    for (const warning of document.warnings) row.append(element("p", { class: "warning" }, warning));
    return row;
  }

  async #remove(document) {
    const stays = document.uploaded ? "Its text and the uploaded file are erased." : "It is forgotten here; the file in its folder stays, and is found again when the gateway next reads the folder.";
    byId("confirm-text").textContent = `“${document.title}” will not be found any more. ${stays}`;
    if (!(await confirmed(byId("confirm")))) return;
    try {
      await this.library.remove(document.id);
      byId("library-note").textContent = `Removed “${document.title}”.`;
    } catch (problem) {
      byId("library-note").textContent = problem.message;
    }
    await this.#changed();
  }

  #take(input) {
    this.add([...input.files]);
    input.value = "";
  }

  // One after another: the library writes one document at a time anyway, and progress stays readable.
  add(files) {
    for (const file of files) {
      const entry = uploadEntry(file);
      byId("uploads").append(entry.node);
      this.waiting = this.waiting.then(() => this.#upload(file, entry));
    }
    return this.waiting;
  }

  async #upload(file, entry) {
    try {
      if (file.size > this.limit) throw new Error(`It is larger than ${Math.round(this.limit / 2 ** 20)} MB. Split it into smaller files.`);
      const { status, document } = await this.library.upload(file, entry.progress);
      entry.finish(status === "unchanged" ? "was here already" : `${status}: “${document.title}”`);
      await this.#changed();
    } catch (problem) {
      // The file's name stands above it already.
      entry.fail(problem.message.replace(`${file.name}: `, ""));
    }
  }

  async #changed() {
    await this.refresh();
    this.onchange();
  }

  #watchDrops() {
    const zone = byId("drop");
    let depth = 0;
    const mark = (change) => zone.classList.toggle("over", (depth = Math.max(0, depth + change)) > 0);
    addEventListener("dragenter", () => mark(1));
    addEventListener("dragleave", () => mark(-1));
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      mark(-depth);
      this.#drop(event.dataTransfer);
    });
  }

  #drop(transfer) {
    const items = [...transfer.items].filter((item) => item.kind === "file");
    const folders = items.filter((item) => item.webkitGetAsEntry()?.isDirectory);
    this.add(items.filter((item) => !folders.includes(item)).map((item) => item.getAsFile()));
    if (folders.length) byId("library-note").textContent = "A folder cannot be dropped. Open it and drop its files.";
  }
}

function uploadEntry(file) {
  const bar = element("progress", { max: "1", value: "0", "aria-label": `Sending ${file.name}` });
  const state = element("span", { class: "note" }, "waiting");
  const node = element("li", { class: "upload" }, element("span", { class: "name" }, file.name), state, bar);
  const end = (kind, text) => {
    bar.remove();
    node.classList.add(kind);
    state.textContent = text;
    const away = element("button", { type: "button", class: "quiet", "aria-label": `Dismiss ${file.name}` }, "×");
    away.addEventListener("click", () => node.remove());
    node.append(away);
  };
  return {
    node,
    progress: (part) => {
      if (part === null) bar.removeAttribute("value");
      else bar.value = part;
      state.textContent = part === null ? "reading" : `sending ${Math.round(part * 100)} %`;
    },
    finish: (text) => end("finished", text),
    fail: (text) => end("failed", text),
  };
}

function facts(document) {
  const parts = [document.name, bytes(document.bytes), `${document.passages} ${document.passages === 1 ? "passage" : "passages"}`];
  if (document.version > 1) parts.push(`version ${document.version}`);
  return parts.join(" · ");
}

function confirmed(dialog) {
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "remove"), { once: true }));
}
