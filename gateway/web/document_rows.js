// The rows of the library: a document, a file that was refused, a file that another client is sending.

import { breakable, bytes, element } from "./dom.js";

const STATUS = {
  ready: "Ready",
  ready_with_warnings: "Ready, with warnings",
  changed: "Changed on disk",
  missing: "File is gone",
  unreadable: "File cannot be read",
};

// `on` has `remove(document)` and `reimport(document)`.
export function documentRow(document, on) {
  const head = element("div", { class: "head" }, element("span", { class: "title", dir: "auto" }, document.title), button("Remove", document.title, () => on.remove(document), "remove"));
  const row = element("li", { class: "document" }, head);
  if (document.summary) row.append(element("p", { class: "summary", dir: "auto" }, document.summary));
  row.append(element("p", { class: "note" }, ...facts(document)));
  if (document.statusSentence) row.append(standing(document, on));
  for (const warning of document.warnings) row.append(element("p", { class: "warning" }, warning));
  return row;
}

// `on` has `retry(file)` and `dismiss(file)`.
export function refusedRow(file, on) {
  const buttons = element("div", { class: "ways" }, button("Try again", file.name, () => on.retry(file)), button("Dismiss", file.name, () => on.dismiss(file)));
  const name = element("span", { class: "title", dir: "auto" }, file.name);
  return element("li", { class: "document refused" }, name, element("p", { class: "warning" }, `Not imported: it ${file.reason}`), buttons);
}

export function comingRow({ name, phase, bytes: all, received }) {
  const far = phase === "reading" ? "being read" : all ? `${Math.round((received / all) * 100)} % received` : `${bytes(received)} received`;
  return element("li", { class: "document coming" }, element("span", { class: "title", dir: "auto" }, name), element("p", { class: "note" }, `Being imported: ${far}`));
}

function standing(document, on) {
  const sentence = element("p", { class: "warning" }, document.statusSentence);
  if (document.status === "changed") sentence.append(" ", button("Read again", document.title, () => on.reimport(document)));
  return sentence;
}

function facts(document) {
  const status = element("span", { class: "status", "data-status": document.status }, STATUS[document.status] ?? document.status);
  const parts = [bytes(document.bytes), counted(document.passages, "passage")];
  if (document.pages) parts.unshift(counted(document.pages, document.pageKind));
  if (document.version > 1) parts.push(`version ${document.version}`);
  return [status, " · ", breakable(document.name), ...parts.flatMap((part) => [" · ", element("span", { class: "fact" }, part)])];
}

function counted(count, what) {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function button(label, of, onclick, kind = "") {
  const node = element("button", { type: "button", class: `quiet ${kind}`.trim(), "aria-label": `${label} ${of}` }, label);
  node.addEventListener("click", onclick);
  return node;
}
