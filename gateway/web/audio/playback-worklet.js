// Plays pieces of samples one after another and tells which item is heard, and how far.

const REPORT_EVERY = 10; // blocks of 128 samples

class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.queue = [];
    this.offset = 0;
    this.heard = 0;
    this.item = null;
    this.blocks = 0;
    this.port.onmessage = ({ data }) => (data.samples ? this.queue.push(data) : this.#flush());
  }

  process(_, [[output]]) {
    let written = 0;
    while (written < output.length && this.queue.length) written += this.#copy(output, written);
    if (written && ++this.blocks % REPORT_EVERY === 0) this.#report();
    if (written && !this.queue.length) this.#end();
    return true;
  }

  #copy(output, at) {
    const { samples, item } = this.queue[0];
    if (item !== this.item) {
      this.item = item;
      this.heard = 0;
    }
    const part = samples.subarray(this.offset, this.offset + output.length - at);
    output.set(part, at);
    this.offset += part.length;
    this.heard += part.length;
    if (this.offset === samples.length) {
      this.queue.shift();
      this.offset = 0;
    }
    return part.length;
  }

  #report() {
    this.port.postMessage({ item: this.item, heard: this.heard });
  }

  #end() {
    this.#report();
    this.port.postMessage({ silent: true });
  }

  #flush() {
    this.queue = [];
    this.offset = 0;
    this.#end();
  }
}

registerProcessor("playback", Playback);
