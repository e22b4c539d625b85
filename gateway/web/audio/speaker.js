// Plays the model's audio, and knows how much of it was heard when somebody speaks over it.

import { samplesOf } from "./pcm.js";

const RATE = 24000;

export class Speaker {
  constructor({ onplaying }) {
    this.onplaying = onplaying;
    this.playing = false;
    this.heard = { item: null, samples: 0 };
  }

  // Browsers let a page make sound only after a gesture, so this is called from one.
  async start() {
    this.context ??= new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
    this.ready ??= this.#connect();
    await this.ready;
    if (this.context.state === "suspended") await this.context.resume();
  }

  play(base64, item) {
    if (!this.node) return;
    const samples = samplesOf(base64);
    if (samples.length) this.#playing(true);
    this.node.port.postMessage({ samples, item }, [samples.buffer]);
  }

  // Falls silent at once. Returns {item, milliseconds} of what was cut off, or null when nothing was playing.
  stop() {
    if (!this.playing) return null;
    this.node.port.postMessage({ flush: true });
    this.#playing(false);
    return { item: this.heard.item, milliseconds: Math.floor((this.heard.samples / RATE) * 1000) };
  }

  async #connect() {
    await this.context.audioWorklet.addModule("/audio/playback-worklet.js");
    this.node = new AudioWorkletNode(this.context, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
    this.node.port.onmessage = ({ data }) => this.#told(data);
    this.node.connect(this.context.destination);
  }

  #told(data) {
    if (data.silent) this.#playing(false);
    else this.heard = { item: data.item, samples: data.heard };
  }

  #playing(now) {
    if (this.playing === now) return;
    this.playing = now;
    this.onplaying(now);
  }
}
