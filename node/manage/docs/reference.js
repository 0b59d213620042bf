// Renders /openapi.json as a page. Text only ever becomes text nodes, so nothing in the document can become markup.
"use strict";

const methods = ["get", "post", "put", "patch", "delete"];

function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

function resolve(spec, schema) {
  while (schema && schema.$ref) schema = spec.components.schemas[schema.$ref.split("/").pop()];
  return schema || {};
}

function rules(s) {
  const out = [[].concat(s.type || "any").join(" or ")];
  if (s.format && s.format !== "int64") out.push(s.format);
  if (s.enum) out.push(s.enum.join(" | "));
  const range = (low, high, unit) => {
    if (low === undefined && high === undefined) return;
    if (low === undefined) out.push("at most " + high + unit);
    else if (high === undefined) out.push("at least " + low + unit);
    else out.push(low + "–" + high + unit);
  };
  range(s.minLength, s.maxLength, " characters");
  range(s.minItems, s.maxItems, " items");
  if (s.exclusiveMinimum !== undefined) out.push("over " + s.exclusiveMinimum);
  range(s.minimum, s.maximum, "");
  if (s.pattern) out.push(s.pattern);
  if (s.default !== undefined) out.push("default " + JSON.stringify(s.default));
  return out.join(", ");
}

function members(spec, schema, seen) {
  const s = resolve(spec, schema);
  if (s.type === "array" || (Array.isArray(s.type) && s.type.includes("array"))) return members(spec, s.items, seen);
  if (!s.properties || seen.includes(s)) return null;
  const list = el("ul", { class: "members" });
  const must = s.required || [];
  const names = [...must, ...Object.keys(s.properties).filter((name) => !must.includes(name))];
  for (const name of names) {
    const property = s.properties[name];
    const p = resolve(spec, property);
    const required = must.includes(name) ? " required," : "";
    const doc = property.description || p.description;
    list.append(el("li", {},
      el("code", {}, name), el("span", { class: "rule" }, required + " " + rules(p)),
      doc ? el("span", {}, " — " + doc) : null,
      members(spec, property, seen.concat([s]))));
  }
  return list;
}

function body(spec, content) {
  const schema = content && content["application/json"] && content["application/json"].schema;
  if (!schema) return null;
  return members(spec, schema, []) || el("p", { class: "rule" }, rules(resolve(spec, schema)));
}

function parameters(list) {
  if (!list || !list.length) return null;
  const rows = list.map((p) => el("tr", {},
    el("td", {}, el("code", {}, p.name)), el("td", {}, p.in + (p.required ? ", required" : "")),
    el("td", {}, rules(p.schema || {}) + (p.description ? " — " + p.description : ""))));
  return el("table", {}, el("tbody", {}, ...rows));
}

function operation(spec, path, method, op) {
  const success = Object.entries(op.responses).find(([status]) => status.startsWith("2")) || ["", {}];
  const refusals = Object.keys(op.responses).filter((status) => !status.startsWith("2")).join(", ");
  return el("details", { id: op.operationId, "data-text": (method + " " + path + " " + op.summary + " " + op.operationId).toLowerCase() },
    el("summary", {},
      el("span", { class: "method " + method.toUpperCase() }, method.toUpperCase()), el("code", {}, path), " ",
      el("span", { class: "doc" }, op.summary || "")),
    el("div", {},
      parameters(op.parameters),
      op.requestBody ? el("h3", {}, "Body") : null,
      op.requestBody ? body(spec, op.requestBody.content) : null,
      el("h3", {}, "Answer " + success[0]),
      body(spec, success[1].content) || el("p", { class: "rule" }, success[0] === "204" ? "no body" : "{}"),
      el("p", { class: "rule" }, "Otherwise: " + refusals)));
}

async function main() {
  const into = document.getElementById("operations");
  const answer = await fetch("/openapi.json");
  const spec = await answer.json();
  const groups = new Map();
  for (const [path, item] of Object.entries(spec.paths)) {
    for (const method of methods) {
      const op = item[method];
      if (!op) continue;
      const tag = (op.tags || ["Other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operation(spec, path, method, op));
    }
  }
  into.replaceChildren();
  for (const tag of [...groups.keys()].sort((a, b) => (b === "Storefront") - (a === "Storefront") || a.localeCompare(b))) {
    into.append(el("section", {}, el("h2", {}, tag), ...groups.get(tag)));
  }
  document.getElementById("find").addEventListener("input", (e) => {
    const words = e.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const d of into.querySelectorAll("details")) d.hidden = !words.every((w) => d.dataset.text.includes(w));
    for (const s of into.querySelectorAll("section")) s.hidden = !s.querySelector("details:not([hidden])");
  });
  const wanted = document.getElementById(location.hash.slice(1));
  if (wanted) { wanted.open = true; wanted.scrollIntoView(); }
}

main().catch((e) => document.getElementById("operations").replaceChildren("The description could not be read: " + e.message));
