// What the gateway, the provider and the model are doing just now, in words.

import { byId } from "./dom.js";

const CONNECTION = {
  connecting: ["waiting", "Connecting"],
  open: ["good", "Connected"],
  away: ["bad", "Gateway away"],
  refused: ["bad", "Token needed"],
};
const HEALTH = {
  ready: ["good", ""],
  unconfigured: ["waiting", "nothing to look into yet"],
  degraded: ["waiting", "slow or partly down"],
  unavailable: ["bad", "cannot be reached"],
};
const AWAY = "The gateway is away. What was said stays here; the page connects again by itself. Start it with: earpiece serve";
const MODEL_AWAY = "The gateway cannot reach its model. What was said stays here; it is tried again.";

// `problem` is what the gateway last said of its model; then it is not the gateway that is away.
export function showConnection(state, problem) {
  if (problem && state !== "refused") {
    showBanner(MODEL_AWAY);
    return;
  }
  show("state-connection", ...CONNECTION[state]);
  // Nobody knows how these are while the gateway is away.
  if (state === "away" || state === "refused") for (const id of ["state-provider", "state-model"]) byId(id).hidden = true;
  showBanner(state === "away" ? AWAY : "");
}

function showBanner(text) {
  byId("away").hidden = !text;
  byId("away").querySelector("span").textContent = text;
}

export async function showProvider(token) {
  try {
    const headers = token() ? { Authorization: `Bearer ${token()}` } : {};
    const { knowledge, provider } = await (await fetch("/v1/health", { headers, cache: "no-store" })).json();
    const [mood, words] = HEALTH[knowledge.status] ?? ["waiting", knowledge.status];
    const label = provider?.label ?? "No documents";
    show("state-provider", mood, words ? `${label}: ${words}` : label, knowledge.message);
  } catch {
    show("state-provider", "bad", "Documents: unknown");
  }
}

export function showModel({ name, problem }) {
  const embedded = name === "earpiece-embedded";
  if (!problem) showBanner("");
  show("state-model", problem ? "bad" : "good", problem ? "Model away" : embedded ? "Embedded model" : name || "Model", problem);
  byId("welcome-model").hidden = !embedded;
  byId("welcome-model").textContent = "The embedded model answers here. It is not a language model: it looks your words up and quotes what fits best.";
}

function show(id, mood, words, title = "") {
  const node = byId(id);
  node.hidden = false;
  node.dataset.state = mood;
  node.querySelector(".what").textContent = words;
  node.title = title ?? "";
}
