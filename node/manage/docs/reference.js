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

// alternatives are the schemas of which one holds, the schema itself where there is no choice.
function alternatives(s) {
  return s.oneOf || s.anyOf || [s];
}

function kind(spec, s) {
  if (s.oneOf || s.anyOf) return alternatives(s).map((a) => kind(spec, resolve(spec, a))).join(" or ");
  const type = [].concat(s.type || "any").join(" or ");
  if (type.startsWith("array") && s.items) return type.replace("array", "array of " + kind(spec, resolve(spec, s.items)));
  if (s.additionalProperties && s.additionalProperties.type) return "object of " + kind(spec, resolve(spec, s.additionalProperties));
  return type;
}

function rules(spec, s) {
  const item = s.items && resolve(spec, s.items);
  const each = item && !item.properties ? bounds(item) : [];
  return [kind(spec, s), ...bounds(s), ...(each.length ? ["each " + each.join(", ")] : [])].join(", ");
}

function bounds(s) {
  const out = [];
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
  return out;
}

// members lists the members of an object, with a word for those that are never absent.
function members(spec, schema, seen, word) {
  const s = resolve(spec, schema);
  if (s.oneOf || s.anyOf) {
    const lists = alternatives(s).map((a) => members(spec, a, seen, word)).filter(Boolean);
    if (lists.length < 2) return lists[0] || null;
    const all = el("div", {});
    lists.forEach((list, i) => all.append(el("p", { class: "rule" }, i ? "or" : "either"), list));
    return all;
  }
  if (s.type === "array" || (Array.isArray(s.type) && s.type.includes("array"))) return members(spec, s.items, seen, word);
  if (!s.properties || seen.includes(s)) return null;
  const list = el("ul", { class: "members" });
  const must = s.required || [];
  const names = [...must, ...Object.keys(s.properties).filter((name) => !must.includes(name))];
  for (const name of names) {
    const property = s.properties[name];
    const p = resolve(spec, property);
    const required = must.includes(name) ? " " + word + "," : "";
    const doc = property.description || p.description;
    list.append(el("li", {},
      el("code", {}, name), el("span", { class: "rule" }, required + " " + rules(spec, p)),
      doc ? el("span", {}, " — " + doc) : null,
      members(spec, property, seen.concat([s]), word)));
  }
  return list;
}

// body shows what is sent or answered, of every media type.
function body(spec, content, word) {
  const parts = Object.entries(content || {}).map(([type, { schema }]) => {
    const shown = schema && (members(spec, schema, [], word) || el("p", { class: "rule" }, rules(spec, resolve(spec, schema))));
    const name = type === "application/json" ? null : el("p", { class: "rule" }, type);
    return el("div", {}, name, shown);
  });
  return parts.length ? el("div", {}, ...parts) : null;
}

function parameters(spec, list) {
  if (!list || !list.length) return null;
  const rows = list.map((p) => el("tr", {},
    el("td", {}, el("code", {}, p.name)), el("td", {}, p.in + (p.required ? ", required" : "")),
    el("td", {}, rules(spec, resolve(spec, p.schema)) + (p.description ? " — " + p.description : ""))));
  return el("table", {}, el("tbody", {}, ...rows));
}

// example is the smallest value that a schema takes.
function example(spec, schema) {
  const s = resolve(spec, alternatives(resolve(spec, schema))[0]);
  const type = [].concat(s.type)[0];
  if (s.enum) return s.enum[0];
  if (type === "object") return Object.fromEntries((s.required || []).map((name) => [name, example(spec, s.properties[name])]));
  if (type === "array") return Array.from({ length: s.minItems || 0 }, () => example(spec, s.items));
  if (type === "integer" || type === "number") return s.minimum || 1;
  if (type === "boolean") return true;
  const of = { uuid: "00000000-0000-7000-8000-000000000000", date: "2026-01-31", "date-time": "2026-01-31T12:00:00Z",
    email: "ada@example.com", uri: "https://example.com/" };
  return of[s.format] || "x".repeat(Math.max(1, s.minLength || 0));
}

const keys = { auction: "$AUCTION_KEY", management: "$MANAGEMENT_KEY" };

// callers says whose key an operation wants.
function callers(op) {
  const all = (op.security || []).flatMap((one) => Object.keys(one));
  return all.length ? all.map((name) => (keys[name] ? name + " key" : name)).join(" or ") : "no key";
}

// curl is a command that the operation understands, with the least that it demands.
function curl(spec, path, method, op) {
  const query = (op.parameters || []).filter((p) => p.in === "query" && p.required)
    .map((p) => p.name + "=" + encodeURIComponent(example(spec, p.schema))).join("&");
  const lines = ["curl" + (method === "get" ? "" : " -X " + method.toUpperCase()) + " '" + spec.servers[0].url + path + (query ? "?" + query : "") + "'"];
  const key = (op.security || []).flatMap((one) => Object.keys(one)).find((name) => keys[name]);
  if (key) lines.push("  -H \"Authorization: Bearer " + keys[key] + "\"");
  const json = op.requestBody && op.requestBody.content && op.requestBody.content["application/json"];
  if (json) lines.push("  -H 'Content-Type: application/json'", "  -d '" + JSON.stringify(example(spec, json.schema)) + "'");
  return el("pre", {}, lines.join(" \\\n"));
}

// refusals lists what else may be answered. Where a status has the object of errors, its codes are on the page of errors.
function refusals(spec, op) {
  const rows = Object.entries(op.responses).filter(([status]) => !status.startsWith("2")).map(([status, response]) => {
    const r = response.$ref ? spec.components.responses[response.$ref.split("/").pop()] : response;
    return el("tr", {}, el("td", {}, el("a", { href: "/docs/errors#status-" + status }, status)), el("td", {}, r.description || ""));
  });
  return rows.length ? el("table", {}, el("tbody", {}, ...rows)) : null;
}

function operation(spec, path, method, op) {
  const success = Object.entries(op.responses).find(([status]) => status.startsWith("2")) || ["", {}];
  return el("details", { id: op.operationId, "data-text": (method + " " + path + " " + op.summary + " " + op.operationId).toLowerCase() },
    el("summary", {},
      el("span", { class: "method " + method.toUpperCase() }, method.toUpperCase()),
      el("span", {}, el("code", {}, path), el("span", { class: "doc" }, op.summary || ""))),
    el("div", {},
      el("p", { class: "rule" }, el("a", { href: "#" + op.operationId }, op.operationId), ", " + callers(op)),
      op.parameters ? el("h3", {}, "Parameters") : null,
      parameters(spec, op.parameters),
      op.requestBody ? el("h3", {}, "Body") : null,
      op.requestBody ? body(spec, op.requestBody.content, "required") : null,
      el("h3", {}, "Answer " + success[0]),
      body(spec, success[1].content, "always") || el("p", { class: "rule" }, success[0] === "204" ? "no body" : "{}"),
      el("h3", {}, "Otherwise"),
      refusals(spec, op),
      el("h3", {}, "Example"),
      curl(spec, path, method, op)));
}

// open shows the operation that the address names, whose section a search may have hidden.
function open() {
  const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!wanted) return;
  wanted.hidden = wanted.parentElement.hidden = false;
  if (wanted.tagName === "DETAILS") wanted.open = true;
  wanted.scrollIntoView();
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
  const tags = [...groups.keys()].sort((a, b) => (b === "Storefront") - (a === "Storefront") || a.localeCompare(b));
  const anchor = (tag) => "tag-" + tag.toLowerCase().replaceAll(" ", "-");
  into.append(el("nav", {}, ...tags.map((tag) => el("a", { href: "#" + anchor(tag) }, tag))));
  for (const tag of tags) into.append(el("section", { id: anchor(tag) }, el("h2", {}, tag), ...groups.get(tag)));
  document.getElementById("find").addEventListener("input", (e) => {
    const words = e.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const d of into.querySelectorAll("details")) d.hidden = !words.every((w) => d.dataset.text.includes(w));
    for (const s of into.querySelectorAll("section")) s.hidden = !s.querySelector("details:not([hidden])");
  });
  addEventListener("hashchange", open);
  open();
}

main().catch((e) => document.getElementById("operations").replaceChildren("The description could not be read: " + e.message));
