// The library over HTTP. Every failure becomes a `LibraryProblem` with a sentence for a person.

export class LibraryProblem extends Error {
  constructor(message, status, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const DOCUMENTS = "/v1/library/documents";
const QUARANTINE = "/v1/library/quarantine";

export class Library {
  constructor(token) {
    this.token = token;
  }

  // At most 200 documents at once, of those whose title or file name holds each of the words.
  async list({ words, offset, limit }) {
    const part = new URLSearchParams({ words, offset, limit });
    return (await this.#request("GET", `${DOCUMENTS}?${part}`)).json();
  }

  async remove(id) {
    await this.#request("DELETE", `${DOCUMENTS}/${encodeURIComponent(id)}`);
  }

  // Reads a document's file again from where it lies.
  async reimport(id) {
    return (await this.#request("POST", `${DOCUMENTS}/${encodeURIComponent(id)}/reimport`)).json();
  }

  async retry(id) {
    return (await this.#request("POST", `${QUARANTINE}/${encodeURIComponent(id)}/retry`)).json();
  }

  async dismiss(id) {
    await this.#request("DELETE", `${QUARANTINE}/${encodeURIComponent(id)}`);
  }

  // Sends one file. `onprogress` gets 0..1 while it is sent, then null while it is read by the library. The signal
  // cancels it as long as it is being sent; what is being read is read to its end.
  upload(file, onprogress, signal) {
    // fetch cannot tell how far an upload is; XMLHttpRequest can.
    const request = new XMLHttpRequest();
    request.open("POST", `${DOCUMENTS}?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    for (const [name, value] of Object.entries(this.#headers())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => event.lengthComputable && onprogress(event.loaded / event.total));
    request.upload.addEventListener("load", () => onprogress(null));
    signal.addEventListener("abort", () => request.abort());
    return new Promise((resolve, reject) => {
      request.addEventListener("load", () => {
        if (request.status < 300) resolve(JSON.parse(request.responseText));
        else reject(problem(request.status, request.responseText));
      });
      request.addEventListener("error", () => reject(lost()));
      request.addEventListener("abort", () => reject(new LibraryProblem("Cancelled.", 0, "cancelled")));
      request.send(file);
    });
  }

  #headers() {
    return this.token() ? { Authorization: `Bearer ${this.token()}` } : {};
  }

  async #request(method, path) {
    let response;
    try {
      response = await fetch(path, { method, headers: this.#headers(), cache: "no-store" });
    } catch {
      throw lost();
    }
    if (!response.ok) throw problem(response.status, await response.text());
    return response;
  }
}

function lost() {
  return new LibraryProblem("The gateway cannot be reached. Nothing was changed.", 0);
}

function problem(status, text) {
  let error = {};
  try {
    error = JSON.parse(text).error ?? {};
  } catch {
    // Not ours: a proxy in between, or a plain refusal.
  }
  const plain = status === 401 ? "The gateway asks for a token." : `The gateway refused it (${status}).`;
  return new LibraryProblem(error.message ?? plain, status, error.code);
}
