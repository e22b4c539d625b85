// One bar for each of the last turns: knowledge look-ups, the model's own time, and the answer as it streamed.

import { element, milliseconds } from "./dom.js";

const SHOWN_TURNS = 6;
const SVG = "http://www.w3.org/2000/svg";

export function showWaterfall(list, turns) {
  const finished = turns.filter((turn) => turn.at.done).slice(-SHOWN_TURNS);
  const longest = Math.max(1, ...finished.map((turn) => turn.at.done - turn.at.asked));
  list.replaceChildren(...finished.map((turn) => row(turn, longest)));
}

// Pieces as [kind, begin, end] in milliseconds after the question.
export function pieces(turn) {
  const from = turn.at.asked;
  const end = turn.at.done - from;
  const words = (turn.at.words ?? turn.at.done) - from;
  const lookups = turn.lookups.map((lookup) => ["lookup", lookup.at - from, (lookup.ended ?? turn.at.done) - from]);
  return [["model", 0, words], ["words", words, end], ...lookups];
}

function row(turn, longest) {
  const bar = document.createElementNS(SVG, "svg");
  bar.setAttribute("viewBox", "0 0 1000 10");
  bar.setAttribute("preserveAspectRatio", "none");
  bar.setAttribute("aria-hidden", "true");
  for (const [kind, begin, end] of pieces(turn)) bar.append(piece(kind, begin / longest, end / longest));
  const label = element("span", { class: "label", dir: "auto" }, turn.question || "(spoken)");
  return element("li", { class: "measured" }, label, bar, element("span", { class: "note" }, sentence(turn)));
}

function piece(kind, begin, end) {
  const shape = document.createElementNS(SVG, "rect");
  shape.setAttribute("class", kind);
  shape.setAttribute("x", (begin * 1000).toFixed(1));
  shape.setAttribute("width", Math.max(3, (end - begin) * 1000).toFixed(1));
  shape.setAttribute("height", "10");
  return shape;
}

function sentence(turn) {
  const looked = turn.lookups.reduce((sum, lookup) => sum + (lookup.milliseconds ?? 0), 0);
  const parts = [];
  if (turn.lookups.length) parts.push(`knowledge ${milliseconds(looked)}`);
  if (turn.at.words) parts.push(`first word ${milliseconds(turn.at.words - turn.at.asked)}`);
  parts.push(`all ${milliseconds(turn.at.done - turn.at.asked)}`);
  return parts.join(" · ");
}
