// The last turns, newest first, each as a small waterfall over its moments in words. Zero is the person's last word.
//
// The moments are the gateway's own (`knowledge.turn`). The page's clock gives only what these do not tell: when words
// were first heard, when the answer was complete, and the moments of a turn in which nothing was looked up.

import { element, milliseconds } from "./dom.js";

const SHOWN_TURNS = 6;
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1000;
const LANES = ["heard", "prefetch", "call", "model", "words"];
const NAMES = [
  ["heard", "words heard"], ["prefetch", "prefetch"], ["call", "call"], ["result", "result"],
  ["first_sound", "first sound"], ["answer", "answer"], ["end", "end"],
];

export function showWaterfall(list, turns) {
  const rows = turns.filter((turn) => turn.at.done).slice(-SHOWN_TURNS).reverse().map((turn) => ({ turn, at: momentsOf(turn) }));
  const scale = scaleOf(rows.map((row) => row.at));
  list.replaceChildren(...rows.map(({ turn, at }) => rowOf(turn, at, scale)));
}

// Milliseconds from the last word, by name; what did not happen is missing.
export function momentsOf(turn) {
  const at = { ...(turn.measured ?? clocked(turn)) };
  if (turn.item) at.heard = turn.at.begun - turn.at.asked;
  at.end = Math.max(turn.at.done - turn.at.asked, ...Object.values(at));
  if (at.prefetch !== undefined) at.prefetched = prefetchedAt(at, turn.hidden);
  return at;
}

// One that was adopted ran for the time that it saved, and then on within the call; of another the end is not told.
function prefetchedAt({ prefetch, call }, hidden) {
  return hidden ? Math.min(call, prefetch + hidden) : call;
}

function clocked(turn) {
  const [lookup] = turn.lookups;
  const clock = { call: lookup?.at, result: lookup?.milliseconds == null ? undefined : lookup.ended, first_sound: turn.at.words };
  const known = Object.entries(clock).filter(([, moment]) => moment !== undefined);
  return Object.fromEntries(known.map(([name, moment]) => [name, moment - turn.at.asked]));
}

// Pieces as [lane, begin, end] in milliseconds.
export function piecesOf(at) {
  const pieces = [];
  const add = (lane, begin, end = at.end) => begin !== undefined && pieces.push([lane, begin, end]);
  const answer = at.answer ?? at.first_sound;
  add("heard", at.heard, 0);
  add("prefetch", at.prefetch, at.prefetched);
  add("call", at.call, at.result);
  add("model", 0, at.call ?? answer);
  add("model", at.result, answer);
  if (at.first_sound < answer) add("words", at.first_sound, at.first_sound);
  add("words", answer);
  return pieces;
}

// All turns share one scale. A long utterance is cut on the left, or nothing could be seen of what follows it.
function scaleOf(moments) {
  const longest = Math.max(1, ...moments.map((at) => at.end));
  const spoken = moments.some((at) => at.heard !== undefined);
  const begin = Math.min(spoken ? -longest / 8 : 0, ...moments.map((at) => at.prefetch * 1.1 || 0));
  return (moment) => (Math.max(0, moment - begin) / (longest - begin)) * WIDTH;
}

function rowOf(turn, at, scale) {
  const bars = shape("svg", { viewBox: `0 0 ${WIDTH} ${LANES.length * 5}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  bars.append(...piecesOf(at).map(([lane, begin, end]) => bar(lane, scale(begin), scale(end))));
  const zero = scale(0);
  if (zero) bars.append(shape("line", { x1: zero, x2: zero, y1: 0, y2: LANES.length * 5 }));
  const label = element("span", { class: "label", dir: "auto" }, turn.question || "(spoken)");
  return element("li", { class: "measured" }, label, bars, wordsOf(turn, at));
}

function bar(lane, begin, end) {
  const width = Math.max(5, end - begin);
  return shape("rect", { class: lane, x: Math.min(begin, WIDTH - width).toFixed(1), y: LANES.indexOf(lane) * 5, width: width.toFixed(1), height: 4 });
}

function wordsOf(turn, at) {
  const shown = NAMES.filter(([key]) => at[key] !== undefined && !(key === "answer" && at.answer === at.first_sound));
  const notes = { prefetch: turn.hidden && `saved ${milliseconds(turn.hidden)}`, result: turn.lookups.some((lookup) => lookup.slow) && "slow" };
  const pairs = shown.map(([key, name]) => {
    const text = [signed(at[key]), notes[key]].filter(Boolean).join(", ");
    return element("div", {}, element("dt", {}, name), " ", element("dd", {}, text));
  });
  return element("dl", { class: "note" }, ...pairs);
}

function signed(value) {
  return value < 0 ? `−${milliseconds(-value)}` : milliseconds(value);
}

function shape(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}
