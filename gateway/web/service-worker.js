// Keeps the page itself, so that it opens and says so when the gateway is away. Nothing of anybody's data is kept.

const SHELL = "earpiece-shell";
const FILES = [
  "/", "/style.css", "/app.js", "/connection.js", "/document_list.js", "/document_rows.js", "/dom.js",
  "/library.js", "/library_panel.js", "/session.js", "/states.js", "/theme.js", "/transcript.js", "/turns.js",
  "/uploads.js", "/voice.js", "/waterfall.js", "/audio/browser_voice.js",
  "/audio/capture-worklet.js", "/audio/microphone.js", "/audio/pcm.js", "/audio/playback-worklet.js",
  "/audio/resampler.js", "/audio/speaker.js", "/icon.svg", "/icon-192.png", "/manifest.webmanifest",
];

addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELL).then((shell) => shell.addAll(FILES)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method === "GET" && origin === location.origin && FILES.includes(pathname)) {
    event.respondWith(fresh(event.request, pathname));
  }
});

// The gateway's file while it is there, so that a new gateway never meets an old page; else what was kept.
async function fresh(request, pathname) {
  const shell = await caches.open(SHELL);
  try {
    const response = await fetch(request);
    if (response.ok) await shell.put(pathname, response.clone());
    return response;
  } catch (error) {
    const kept = await shell.match(pathname);
    if (kept) return kept;
    throw error;
  }
}
