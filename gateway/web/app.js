// Puts the page together.

import { byId } from "./dom.js";
import { Library } from "./library.js";
import { LibraryPanel } from "./library_panel.js";
import { Session } from "./session.js";
import { showConnection, showModel, showProvider } from "./states.js";
import { setUpTheme } from "./theme.js";
import { Transcript, spokenText } from "./transcript.js";
import { Voice } from "./voice.js";
import { showWaterfall } from "./waterfall.js";

const TOKEN = "earpiece-token";
const ENDED = new Set(["done", "interrupted", "failed", "lost"]);

const token = () => sessionStorage.getItem(TOKEN) ?? "";
const question = byId("question");
const session = new Session({
  token,
  onstate: stateChanged,
  onturn: turnChanged,
  onmodel: showModel,
  onaudio: (base64, item) => voice.play(base64, item),
  onspeech: () => voice.interrupt(),
});
const voice = new Voice(session, { onchange: showVoice, onlevel: (peak) => (byId("level").value = peak) });
const transcript = new Transcript(byId("turns"), { onagain: ask });
const panel = new LibraryPanel(new Library(token), { onchange: () => showProvider(token) });

function stateChanged(state, problem) {
  showConnection(state, problem);
  if (state === "open") {
    showProvider(token);
    panel.refresh();
  }
  if (state === "refused") signIn();
}

function turnChanged(turn) {
  byId("welcome").hidden = true;
  transcript.show(turn);
  announce(turn);
  if (ENDED.has(turn.phase)) showWaterfall(byId("waterfall"), session.turns.list);
  if (ENDED.has(turn.phase) && !turn.counted) {
    turn.counted = true;
    voice.finished(turn);
    if (turn.lookups.some((lookup) => lookup.status === "unavailable")) showProvider(token);
  }
  showStop();
}

// An answer that is read aloud needs no second voice.
function announce(turn) {
  const text = spokenText(turn);
  if (text && text !== turn.announced && !(voice.aloud && turn.phase === "done")) byId("spoken").textContent = text;
  turn.announced = text || turn.announced;
}

function ask(text) {
  const words = text.trim();
  if (!words) return false;
  voice.silence();
  return session.ask(words);
}

function showStop() {
  byId("stop").hidden = !session.turns.running && !voice.isPlaying;
}

function showVoice() {
  byId("talk").setAttribute("aria-pressed", String(voice.talking));
  byId("talk").querySelector("span").textContent = voice.talking ? "Listening" : "Talk";
  byId("level").hidden = !voice.talking;
  byId("aloud").checked = voice.aloud;
  if (byId("voice-note").textContent !== voice.note) byId("voice-note").textContent = voice.note;
  byId("hearing").textContent = voice.hearing && `“${voice.hearing} …”`;
  showStop();
}

function signIn() {
  const dialog = byId("sign-in");
  if (dialog.open) return;
  if (token()) byId("sign-in-text").textContent = "The gateway does not know this token. It may have been revoked; use another one.";
  byId("token").value = "";
  dialog.showModal();
}

function signedIn() {
  sessionStorage.setItem(TOKEN, byId("token").value.trim());
  session.connection.retry();
}

function fitQuestion() {
  question.style.height = "auto";
  question.style.height = `${Math.min(question.scrollHeight, 180)}px`;
}

function openSide(open) {
  document.body.classList.toggle("side-open", open);
  byId("show-side").setAttribute("aria-expanded", String(open));
  byId(open ? "hide-side" : "show-side").focus();
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  if (ask(question.value)) question.value = "";
  fitQuestion();
});
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("composer").requestSubmit();
});
question.addEventListener("input", () => {
  fitQuestion();
  // Whoever begins to type has heard enough.
  if (voice.isPlaying) voice.interrupt();
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
  if (document.body.classList.contains("side-open")) openSide(false);
  else voice.interrupt();
});
byId("stop").addEventListener("click", () => {
  voice.interrupt();
  question.focus();
});
byId("talk").addEventListener("click", () => (voice.talking ? voice.stopTalking() : voice.startTalking()));
byId("aloud").addEventListener("change", (event) => voice.readAloud(event.target.checked));
byId("retry").addEventListener("click", () => session.connection.retry());
byId("sign-in").addEventListener("close", signedIn);
byId("show-side").addEventListener("click", () => openSide(true));
byId("hide-side").addEventListener("click", () => openSide(false));
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && session.connection.state === "open" && showProvider(token));

setUpTheme(byId("theme"));
session.open();
navigator.serviceWorker?.register("/service-worker.js");
