// Changes the rate of a stream of samples with a windowed sinc, which also cuts what the new rate cannot carry.

const HALF_WIDTH = 16;

export class Resampler {
  constructor(from, to) {
    this.step = from / to;
    // Below the lower of the two rates, with a little room for the slope of the filter.
    this.cut = Math.min(1, to / from) * 0.92;
    this.reach = Math.ceil(HALF_WIDTH / this.cut);
    this.samples = new Float32Array(2 * this.reach);
    this.position = this.reach;
  }

  // Takes samples of any number and returns those that are ready, at the new rate.
  feed(input) {
    if (this.step === 1) return input;
    const joined = new Float32Array(this.samples.length + input.length);
    joined.set(this.samples);
    joined.set(input, this.samples.length);
    const output = [];
    for (; this.position + this.reach < joined.length; this.position += this.step) output.push(this.#at(joined));
    const used = Math.max(0, Math.floor(this.position) - this.reach);
    this.samples = joined.slice(used);
    this.position -= used;
    return output;
  }

  #at(samples) {
    const first = Math.ceil(this.position - this.reach);
    const last = Math.floor(this.position + this.reach);
    let sum = 0;
    for (let index = Math.max(0, first); index <= last; index++) sum += samples[index] * this.#weight(index - this.position);
    return sum;
  }

  #weight(distance) {
    const x = distance * this.cut;
    const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
    const window = 0.5 + 0.5 * Math.cos((Math.PI * distance) / this.reach);
    return this.cut * sinc * window;
  }
}
