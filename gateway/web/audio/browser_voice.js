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
  // `onspeech()` when somebody begins, `onheard(text)` with what was said, `onfailed(code)` when it cannot go on.
  constructor({ onspeech, onheard, onfailed }) {
    this.on = { onspeech, onheard, onfailed };
    this.wanted = false;
  }

  start() {
    this.wanted = true;
    this.recognition = new (recognition())();
    this.recognition.continuous = true;
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
    const result = event.results[event.resultIndex];
    if (result?.isFinal && result[0].transcript.trim()) this.on.onheard(result[0].transcript.trim());
  }

  #failed(code) {
    if (code === "no-speech" || code === "aborted") return;
    this.wanted = false;
    this.on.onfailed(code);
  }
}
