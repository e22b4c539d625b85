// Microphone samples at the hardware's rate become 16-bit PCM at 24 kHz, in pieces of 40 ms.

import { Resampler } from "./resampler.js";

const RATE = 24000;
const PIECE_SAMPLES = RATE / 25;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(sampleRate, RATE);
    this.piece = new Int16Array(PIECE_SAMPLES);
    this.filled = 0;
    this.peak = 0;
  }

  process([input]) {
    if (input[0]) for (const sample of this.resampler.feed(input[0])) this.#put(sample);
    return true;
  }

  #put(sample) {
    const bounded = Math.max(-1, Math.min(1, sample));
    this.peak = Math.max(this.peak, Math.abs(bounded));
    this.piece[this.filled++] = bounded * 32767;
    if (this.filled < PIECE_SAMPLES) return;
    const pcm = this.piece.buffer;
    this.port.postMessage({ pcm, peak: this.peak }, [pcm]);
    this.piece = new Int16Array(PIECE_SAMPLES);
    this.filled = 0;
    this.peak = 0;
  }
}

registerProcessor("capture", Capture);
