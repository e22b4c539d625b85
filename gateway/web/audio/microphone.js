// The microphone as pieces of PCM16 at 24 kHz. A refusal becomes a sentence that says how to go on.

import { toBase64 } from "./pcm.js";

const WISHES = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
const REFUSALS = {
  NotAllowedError: "The browser does not allow the microphone here. Allow it beside the address, or type your question.",
  NotFoundError: "No microphone was found. Connect one, or type your question.",
  NotReadableError: "Another program holds the microphone. Close it there, or type your question.",
};

export class MicrophoneRefused extends Error {}

export class Microphone {
  // `onpiece(base64)` gets 40 ms of audio; `onlevel(0..1)` how loud it was.
  constructor({ onpiece, onlevel, onend }) {
    this.onpiece = onpiece;
    this.onlevel = onlevel;
    this.onend = onend;
  }

  async start() {
    this.stream = await microphone();
    this.stream.getAudioTracks()[0].addEventListener("ended", () => this.onend());
    this.context = new AudioContext({ latencyHint: "interactive" });
    await this.context.audioWorklet.addModule("/audio/capture-worklet.js");
    const capture = new AudioWorkletNode(this.context, "capture", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
    capture.port.onmessage = ({ data }) => {
      this.onpiece(toBase64(data.pcm));
      this.onlevel(data.peak);
    };
    this.context.createMediaStreamSource(this.stream).connect(capture);
    await this.context.resume();
  }

  async stop() {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    await this.context?.close();
    this.stream = this.context = undefined;
    this.onlevel(0);
  }
}

async function microphone() {
  if (!navigator.mediaDevices) throw new MicrophoneRefused("The browser gives the microphone to secure pages only. Use https, or 127.0.0.1.");
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: WISHES });
  } catch (error) {
    throw new MicrophoneRefused(REFUSALS[error.name] ?? "The microphone cannot be used. Type your question instead.");
  }
}
