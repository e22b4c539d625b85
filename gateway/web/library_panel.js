// The panel of documents: add by choosing or dropping, read what is there, remove, read again, try again.

import { byId } from "./dom.js";
import { DocumentList } from "./document_list.js";
import { Uploads } from "./uploads.js";

export class LibraryPanel {
  constructor(library, { onchange }) {
    this.library = library;
    this.onchange = onchange;
    this.uploads = new Uploads(byId("uploads"), {
      send: (file, onprogress, signal) => library.upload(file, onprogress, signal),
      onadded: () => this.#changed(),
      onsummary: (text) => this.#note(text),
    });
    this.list = new DocumentList(library, {
      on: {
        remove: (document) => this.#remove(document),
        reimport: (document) => this.#again(() => library.reimport(document.id), `Read “${document.title}” again.`),
        retry: (file) => this.#again(() => library.retry(file.id), `Imported ${file.name}.`),
        dismiss: (file) => this.#again(() => library.dismiss(file.id), `Dismissed ${file.name}.`),
        filtered: () => this.#filtered(),
      },
      sends: (name) => this.uploads.sends(name),
    });
    byId("files").addEventListener("change", (event) => this.#take(event.target));
    this.#watchDrops();
  }

  async refresh() {
    try {
      const found = await this.list.refresh();
      if (!found) return;
      this.uploads.limit = found.maxUploadBytes;
      byId("limit").textContent = `${Math.round(found.maxUploadBytes / 2 ** 20)} MB`;
      byId("library").dataset.mode = "open";
      byId("nothing").hidden = found.total > 0 || found.quarantined.length > 0;
    } catch (problem) {
      this.#unavailable(problem);
    }
  }

  #unavailable(problem) {
    if (problem.status === 404) {
      byId("library").dataset.mode = "absent";
      this.list.clear();
      this.#note("This gateway answers from another system; its documents are managed there.");
    } else if (problem.status) {
      this.#note(problem.message);
    }
  }

  async #filtered() {
    await this.refresh();
    const count = byId("library-count").textContent;
    if (this.list.words) this.#note(byId("documents").children.length ? `${count} documents match.` : `No document is called “${this.list.words}”.`);
    else this.#note("");
  }

  async #remove(document) {
    const index = this.list.indexOf(document);
    const stays = document.uploaded ? "Its text and the uploaded file are erased." : "It is forgotten here; the file in its folder stays, and is found again when the gateway next reads the folder.";
    byId("confirm-text").textContent = `“${document.title}” will not be found any more. ${stays}`;
    if (!(await confirmed(byId("confirm")))) return;
    await this.#again(() => this.library.remove(document.id), `Removed “${document.title}”.`);
    if (this.list.indexOf(document) < 0) this.list.focusNear(index);
  }

  // Does something to one document or file, says how it went, and shows what there is then.
  async #again(work, sentence) {
    try {
      await work();
      this.#note(sentence);
    } catch (problem) {
      this.#note(problem.message);
    }
    await this.#changed();
  }

  #take(input) {
    this.uploads.add([...input.files]);
    input.value = "";
  }

  async #changed() {
    await this.refresh();
    this.onchange();
  }

  #note(text) {
    byId("library-note").textContent = text;
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
    this.uploads.add(items.filter((item) => !folders.includes(item)).map((item) => item.getAsFile()));
    if (folders.length) this.#note("A folder cannot be dropped. Open it and drop its files.");
  }
}

function confirmed(dialog) {
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "remove"), { once: true }));
}
