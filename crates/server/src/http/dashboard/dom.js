// Describes what a page should look like, and changes the page to that with as little as it takes, so
// that focus, selection and scrolling survive an update every second.
//
// Text is only ever put into text nodes and attributes: nothing that a cluster tells is read as markup.

const SVG = "http://www.w3.org/2000/svg";

/** Describes an element. `key` tells siblings apart that may come, go or change places. */
export function h(tag, props, ...children) {
  const { key, ...rest } = props ?? {};
  return { tag, props: rest, key, children: children.flat(Infinity).filter(isShown) };
}

const isShown = (child) => child !== null && child !== undefined && child !== false && child !== true;

/** Gives an element the described children. */
export function render(parent, ...children) {
  patchChildren(parent, children.flat(Infinity).filter(isShown));
}

function patchChildren(parent, wanted) {
  const keyed = new Map();
  for (const node of parent.childNodes) {
    if (node.ours?.key !== undefined) keyed.set(node.ours.key, node);
  }
  let at = parent.firstChild;
  for (const child of wanted) {
    if (typeof child !== "object") {
      const text = String(child);
      if (at?.nodeType === Node.TEXT_NODE) {
        if (at.data !== text) at.data = text;
        at = at.nextSibling;
      } else {
        parent.insertBefore(document.createTextNode(text), at);
      }
      continue;
    }
    const known = child.key === undefined ? at : keyed.get(child.key);
    if (known?.ours && known.ours.tag === child.tag && known.ours.key === child.key) {
      if (known === at) at = at.nextSibling;
      else parent.insertBefore(known, at);
      patch(known, child);
    } else {
      parent.insertBefore(create(child, parent), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function create(child, parent) {
  const inSvg = child.tag === "svg" || parent.namespaceURI === SVG;
  const node = inSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  node.ours = { tag: child.tag, key: child.key, props: {} };
  patch(node, child);
  return node;
}

function patch(node, child) {
  patchChildren(node, child.children);
  const before = node.ours.props;
  for (const name of Object.keys(before)) {
    if (!(name in child.props)) set(node, name, undefined, before[name]);
  }
  for (const [name, value] of Object.entries(child.props)) {
    // What a user has changed in a form is compared with what is wanted, not with what was.
    if (before[name] !== value || name === "value" || name === "checked") {
      set(node, name, value, before[name]);
    }
  }
  node.ours.props = child.props;
}

function set(node, name, value, before) {
  if (name.startsWith("on")) {
    node[name] = value ?? null;
  } else if (name === "style") {
    for (const property of Object.keys(before ?? {})) {
      if (!(property in (value ?? {}))) node.style.removeProperty(property);
    }
    for (const [property, content] of Object.entries(value ?? {})) {
      if (node.style.getPropertyValue(property) !== String(content)) {
        node.style.setProperty(property, content);
      }
    }
  } else if (name === "value" || name === "checked" || name === "open") {
    if (name === "open" ? value !== before : node[name] !== value) node[name] = value ?? "";
  } else if (value === undefined || value === null || value === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}
