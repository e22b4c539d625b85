// Elements made of text alone: nothing that a document or a model says is ever read as HTML.

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Makes these nodes the children of a list. Those that stay are not taken out, for that would lose focus.
export function placeChildren(list, nodes) {
  for (const node of [...list.children]) if (!nodes.includes(node)) node.remove();
  nodes.forEach((node, index) => list.children[index] !== node && list.insertBefore(node, list.children[index] ?? null));
}

// A host or a file's name that a narrow line breaks after its dots and strokes, and not within its words.
export function breakable(name) {
  const pieces = name.split(/(?<=[./_-])/);
  return element("span", {}, ...pieces.flatMap((piece, index) => (index ? [element("wbr"), piece] : [piece])));
}

export function byId(id) {
  return document.getElementById(id);
}

export function milliseconds(value) {
  if (value < 10) return `${value.toFixed(1)} ms`;
  return Math.round(value) < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

export function bytes(size) {
  if (size < 1000) return `${size} bytes`;
  return size < 1e6 ? `${Math.round(size / 1000)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}
