// 16-bit PCM as the protocol carries it: little-endian, in base64.

export function toBase64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(text);
}

export function samplesOf(base64) {
  const text = atob(base64);
  const samples = new Float32Array(text.length >> 1);
  for (let index = 0; index < samples.length; index++) {
    const value = text.charCodeAt(2 * index) | (text.charCodeAt(2 * index + 1) << 8);
    samples[index] = (value > 32767 ? value - 65536 : value) / 32768;
  }
  return samples;
}
