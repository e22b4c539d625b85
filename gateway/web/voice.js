// Talking and listening: which microphone and which voice are used, and what stops them.

import { BrowserEars, BrowserVoice, canListen, canSpeak } from "./audio/browser_voice.js";
import { Microphone, MicrophoneRefused } from "./audio/microphone.js";
import { Speaker } from "./audio/speaker.js";

const RECOGNISED = "Your browser turns what you say into text; it may ask its maker's service for that.";

export class Voice {
  // `onchange()` when anything of `talking`, `playing`, `hearing` or `note` is different; `onlevel(0..1)` while talking.
  constructor(session, { onchange, onlevel }) {
    this.session = session;
    this.onchange = onchange;
    this.talking = false;
    this.aloud = false;
    this.note = "";
    this.hearing = "";
    this.playing = { speaker: false, browser: false };
    this.speaker = new Speaker({ onplaying: (now) => this.#playing("speaker", now) });
    this.browser = new BrowserVoice({ onplaying: (now) => this.#playing("browser", now) });
    this.microphone = new Microphone({
      onpiece: (base64) => session.sendAudio(base64),
      onlevel,
      onend: () => this.stopTalking("The microphone was taken away. Connect it again and press Talk."),
    });
    this.ears = new BrowserEars({
      onspeech: () => this.interrupt(),
      onhearing: (text) => this.#hearing(text),
      onheard: (text) => session.ask(text, { spoken: true }),
      onfailed: () => this.#useMicrophone(),
    });
  }

  get isPlaying() {
    return this.playing.speaker || this.playing.browser;
  }

  async readAloud(wanted) {
    this.aloud = wanted;
    if (!wanted) this.silence();
    if (wanted) await this.speaker.start();
    this.session.speakAnswers(wanted);
    this.onchange();
  }

  async startTalking() {
    this.talking = true;
    this.#say("");
    await this.readAloud(true);
    if (this.session.isEmbedded && canListen()) {
      this.ears.start();
      this.#say(RECOGNISED);
    } else {
      await this.#useMicrophone();
    }
  }

  async stopTalking(note = "") {
    this.talking = false;
    this.hearing = "";
    this.ears.stop();
    await this.microphone.stop();
    this.#say(note);
  }

  play(base64, item) {
    if (this.aloud) this.speaker.play(base64, item);
  }

  // A model without a voice: the browser's own reads the answer.
  finished(turn) {
    if (this.aloud && turn.phase === "done" && turn.answer && !this.session.spoken && canSpeak()) this.browser.say(turn.answer);
  }

  // Stops answer and sound. What was not heard is cut off at the model, too.
  interrupt() {
    this.session.interrupt(this.silence());
  }

  silence() {
    this.browser.stop();
    return this.speaker.stop();
  }

  async #useMicrophone() {
    this.ears.stop();
    if (!this.talking) return;
    try {
      await this.microphone.start();
      this.#say("");
      if (!this.talking) await this.microphone.stop();
    } catch (error) {
      const refused = error instanceof MicrophoneRefused;
      await this.stopTalking(refused ? error.message : "The microphone cannot be used. Type your question instead.");
      if (!refused) console.error(error);
    }
  }

  #hearing(text) {
    this.hearing = text;
    this.onchange();
  }

  #playing(which, now) {
    this.playing[which] = now;
    this.onchange();
  }

  #say(note) {
    this.note = note;
    this.onchange();
  }
}
