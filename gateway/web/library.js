// The library over HTTP. Every failure becomes a `LibraryProblem` with a sentence for a person.

export class LibraryProblem extends Error {
  constructor(message, status, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Library {
  constructor(token) {
    this.token = token;
  }

  async list() {
    return (await this.#request("GET", "/v1/library/documents")).json();
  }

  async remove(id) {
    await this.#request("DELETE", `/v1/library/documents/${encodeURIComponent(id)}`);
  }

  // Sends one file. `onprogress` gets 0..1 while it is sent, then null while it is read by the library.
  upload(file, onprogress) {
    // fetch cannot tell how far an upload is; XMLHttpRequest can.
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/library/documents?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    for (const [name, value] of Object.entries(this.#headers())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => event.lengthComputable && onprogress(event.loaded / event.total));
    request.upload.addEventListener("load", () => onprogress(null));
    return new Promise((resolve, reject) => {
      request.addEventListener("load", () => {
        if (request.status < 300) resolve(JSON.parse(request.responseText));
        else reject(problem(request.status, request.responseText));
      });
      request.addEventListener("error", () => reject(lost()));
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
