// The browser's own voice and ears, for a model that has none.

function recognition() {
  return globalThis.SpeechRecognition ?? globalThis.webkitSpeechRecognition;
}

export function canListen() {
  return recognition() !== undefined;
}

export function canSpeak() {
  return (globalThis.speechSynthesis?.getVoices() ?? []).length > 0;
}

export function languageOf(text) {
  if (/[\u3040-\u30ff]/.test(text)) return "ja";
  return /[\u3400-\u9fff]/.test(text) ? "zh" : "en";
}

export class BrowserVoice {
  constructor({ onplaying }) {
    this.onplaying = onplaying;
  }

  say(text) {
    const saying = new SpeechSynthesisUtterance(text);
    const language = languageOf(text);
    saying.voice = speechSynthesis.getVoices().find((voice) => voice.lang.startsWith(language)) ?? null;
    saying.addEventListener("start", () => this.onplaying(true));
    for (const end of ["end", "error"]) saying.addEventListener(end, () => this.onplaying(false));
    speechSynthesis.speak(saying);
  }

  stop() {
    globalThis.speechSynthesis?.cancel();
  }
}

export class BrowserEars {
  // `onspeech()` when somebody begins, `onhearing(text)` with what is understood so far, `onheard(text)` with what was
  // said, `onfailed(code)` when it cannot go on.
  constructor({ onspeech, onhearing, onheard, onfailed }) {
    this.on = { onspeech, onhearing, onheard, onfailed };
    this.wanted = false;
  }

  start() {
    this.wanted = true;
    this.recognition = new (recognition())();
    this.recognition.continuous = true;
    this.recognition.interimResults = true;
    this.recognition.lang = navigator.language;
    this.recognition.addEventListener("speechstart", () => this.on.onspeech());
    this.recognition.addEventListener("result", (event) => this.#heard(event));
    this.recognition.addEventListener("error", (event) => this.#failed(event.error));
    // Browsers end it after a silence; it goes on until the person ends it.
    this.recognition.addEventListener("end", () => this.wanted && this.recognition.start());
    this.recognition.start();
  }

  stop() {
    this.wanted = false;
    this.recognition?.abort();
  }

  #heard(event) {
    // One event may carry several results; those before `resultIndex` were heard in an event before.
    const results = Array.from(event.results).slice(event.resultIndex);
    const said = transcript(results.filter((result) => result.isFinal));
    this.on.onhearing(transcript(results.filter((result) => !result.isFinal)));
    if (said) this.on.onheard(said);
  }

  #failed(code) {
    if (code === "no-speech" || code === "aborted") return;
    this.wanted = false;
    this.on.onfailed(code);
  }
}

// Pieces come with the blanks between them where the language has any.
function transcript(results) {
  return results.map((result) => result[0].transcript).join("").trim();
}
