// Shows the turns: the question, the look-up while it runs, the answer as it streams, its sources beside it.

import { breakable, element, milliseconds } from "./dom.js";

const STATUS = {
  ok: (count) => `Found ${count} ${count === 1 ? "passage" : "passages"}`,
  repeated: () => "Looked up before",
  no_results: () => "Nothing about it in the documents",
  timeout: () => "The look-up took too long",
  unavailable: () => "The documents could not be reached",
  unconfigured: () => "No documents are connected",
  invalid_request: () => "The model asked in a wrong way",
  limit_reached: () => "Enough look-ups for one answer",
  superseded: () => "Look-up dropped",
};
const ENDING = {
  interrupted: "Stopped.",
  lost: "The connection broke before the answer was complete.",
};

export class Transcript {
  constructor(list, { onagain }) {
    this.list = list;
    this.onagain = onagain;
    this.shown = new Map();
  }

  show(turn) {
    const atEnd = this.#isAtEnd();
    const parts = this.shown.get(turn) ?? this.#add(turn);
    parts.question.textContent = turn.question || (turn.spoken ? "(spoken)" : "");
    parts.item.dataset.phase = turn.phase;
    this.#showLookups(parts.lookups, turn);
    this.#stream(parts.answer, turn.answer);
    this.#showEnd(parts.end, turn);
    this.#showSources(parts.sources, turn);
    if (atEnd) this.list.scrollTop = this.list.scrollHeight;
  }

  #isAtEnd() {
    return this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 80;
  }

  #add(turn) {
    const parts = {
      question: element("p", { class: "question", dir: "auto" }),
      lookups: element("ul", { class: "lookups" }),
      answer: element("p", { class: "answer", dir: "auto" }),
      end: element("p", { class: "end" }),
      sources: element("ul", { class: "sources", "aria-label": "Sources" }),
    };
    const reply = element("div", { class: "reply" }, parts.lookups, parts.answer, parts.end);
    parts.item = element("article", { class: "turn" }, parts.question, element("div", { class: "pair" }, reply, parts.sources));
    this.shown.set(turn, parts);
    this.list.append(parts.item);
    this.list.tabIndex = 0; // what scrolls must be reached by keys
    this.list.scrollTop = this.list.scrollHeight;
    return parts;
  }

  // Text is appended, not replaced: what somebody selected while it streams stays selected.
  #stream(node, text) {
    const known = node.textContent;
    if (text.startsWith(known)) node.append(text.slice(known.length));
    else node.textContent = text;
  }

  #showLookups(list, turn) {
    const lookups = lookupsOf(turn);
    lookups.forEach((lookup, index) => {
      const row = list.children[index] ?? list.appendChild(element("li", { class: "lookup" }));
      const text = lookupText(lookup, turn);
      row.dataset.status = lookup.status;
      if (row.textContent !== text) row.textContent = text;
    });
    while (list.children.length > lookups.length) list.lastChild.remove();
  }

  #showEnd(node, turn) {
    const text = turn.problem || ENDING[turn.phase] || "";
    if (node.dataset.text === text) return;
    node.dataset.text = text;
    node.replaceChildren(text);
    if (turn.question && (turn.phase === "lost" || turn.phase === "failed")) {
      const again = element("button", { type: "button", class: "quiet" }, "Ask again");
      again.addEventListener("click", () => this.onagain(turn.question));
      node.append(" ", again);
    }
  }

  #showSources(list, turn) {
    const cards = cardsOf(turn);
    const content = JSON.stringify(cards);
    if (list.dataset.content === content) return;
    list.dataset.content = content;
    list.replaceChildren(...cards.map(cardElement));
  }
}

// Until the model calls, what is looked up ahead stands where its call will.
function lookupsOf(turn) {
  const waiting = turn.ahead && !turn.lookups.length && (turn.phase === "listening" || turn.phase === "asked");
  return waiting ? [{ status: "running", query: turn.ahead, early: true }] : turn.lookups;
}

// What a screen reader says of a turn: once that a look-up is slow, and the answer when it is complete; not each word.
export function spokenText(turn) {
  const slow = turn.phase === "looking" && turn.lookups.at(-1)?.slow;
  if (slow) return runningText(turn.lookups.at(-1));
  if (turn.phase !== "done" && !turn.problem && turn.phase !== "lost") return "";
  const titles = [...new Set(turn.sources.map((source) => source.title).filter(Boolean))];
  const sources = turn.phase === "done" && titles.length ? `Sources: ${titles.join(", ")}.` : "";
  return [turn.answer, turn.problem || ENDING[turn.phase] || "", sources].filter(Boolean).join(" ");
}

function lookupText(lookup, turn) {
  if (lookup.status === "running") return runningText(lookup);
  const sentence = (STATUS[lookup.status] ?? (() => lookup.status))(turn.sources.length);
  const time = lookup.milliseconds === null ? "" : ` · ${milliseconds(lookup.milliseconds)}`;
  return `${sentence}${time}${lookup.ahead ? ", looked up while you spoke" : ""}`;
}

function runningText({ query, early, slow }) {
  if (slow) return `Still looking up “${query}”, for more than ${milliseconds(slow)} …`;
  return `${early ? "Already looking" : "Looking"} up “${query}” …`;
}

// One card for a source, with all the places found in it. Only a citation makes a link; a source without one is a card
// all the same, for it says where to look.
export function cardsOf(turn) {
  const cited = new Map(turn.citations.map((citation) => [citation.id, citation]));
  const cards = new Map();
  for (const source of turn.sources) {
    const citation = cited.get(source.citation);
    const [file, place] = placeOf(source.locator ?? "");
    const key = citation?.uri ?? `${source.title} ${file}`;
    const card = cards.get(key) ?? { title: source.title, file, uri: citation?.uri, snippet: wordsOf(citation?.snippet, source.title, place), places: [] };
    if (place && place !== card.title && !card.places.includes(place)) card.places.push(place);
    cards.set(key, card);
  }
  for (const { uri, title, snippet } of cited.values()) {
    if (!cards.has(uri)) cards.set(uri, { title, uri, snippet, file: "", places: [] });
  }
  return [...cards.values()];
}

// A passage may open with the headings that it stands under; the card shows these already.
function wordsOf(snippet, title, place) {
  const headings = `${title} > ${place} `;
  return snippet?.startsWith(headings) ? snippet.slice(headings.length) : snippet;
}

// "/somewhere/report.pdf#Results" is shown as the file's name and the place in it.
function placeOf(locator) {
  const [path, ...rest] = locator.split("#");
  if (!rest.length && !/[\\/]/.test(path)) return ["", path];
  return [path.split(/[\\/]/).at(-1), rest.join("#")];
}

function cardElement({ title, file, uri, snippet, places }) {
  const name = title || file || "Untitled source";
  const head = isLink(uri)
    ? element("a", { href: uri, target: "_blank", rel: "noopener noreferrer", class: "title" }, name)
    : element("span", { class: "title" }, name);
  const lines = [head];
  const where = isLink(uri) ? new URL(uri).host : file;
  if (where) lines.push(element("span", { class: "where" }, breakable(where)));
  if (snippet) lines.push(element("span", { class: "snippet" }, snippet));
  if (places.length) lines.push(element("ul", { class: "places" }, ...places.map((place) => element("li", {}, place))));
  return element("li", { class: "card", dir: "auto" }, ...lines);
}

function isLink(uri) {
  return /^https?:\/\//i.test(uri ?? "") && URL.canParse(uri);
}
