// A page of a storefront on another origin: every request is preceded by the preflight that a browser sends for it, and refused
// here where a browser would refuse it. Bodies come with charset parameters, in chunks and to paths with double slashes.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

const { HOST = "http://127.0.0.1:8080", AUCTION_KEY, PRODUCT = "p1", SLOT = "home-top" } = process.env;
const origin = "https://shop.example";
const safelisted = new Set(["accept", "accept-language", "content-language"]);

const page = async (path, body, headers = {}, chunked = false) => {
  const sent = { authorization: "Bearer " + AUCTION_KEY, "content-type": "application/json", "x-ua": "@topsort/sdk 0.3.8", accept: "application/json", ...headers };
  const asked = Object.keys(sent).filter((n) => !safelisted.has(n)).sort();
  const pre = await fetch(HOST + path, { method: "OPTIONS", redirect: "manual", headers: {
    origin, "access-control-request-method": "POST", "access-control-request-headers": asked.join(",") } });
  assert.ok(pre.status >= 200 && pre.status < 300, `preflight of ${path}: ${pre.status}`);
  const list = (name) => (pre.headers.get(name) ?? "").split(",").map((s) => s.trim().toLowerCase());
  assert.ok(["*", origin].includes(pre.headers.get("access-control-allow-origin")), path);
  assert.ok(list("access-control-allow-methods").includes("post"), path);
  for (const n of asked) assert.ok(list("access-control-allow-headers").includes(n), `${path}: ${n} is not allowed`);

  const text = JSON.stringify(body);
  const parts = chunked ? new ReadableStream({ start(c) {
    const bytes = new TextEncoder().encode(text);
    for (let i = 0; i < bytes.length; i += 7) c.enqueue(bytes.slice(i, i + 7));
    c.close();
  } }) : text;
  const r = await fetch(HOST + path, { method: "POST", redirect: "manual", headers: { origin, ...sent }, body: parts, ...(chunked && { duplex: "half" }) });
  assert.ok(["*", origin].includes(r.headers.get("access-control-allow-origin")), `${path}: a browser hides the answer`);
  assert.ok(r.headers.get("access-control-expose-headers").toLowerCase().includes("x-request-id"), path);
  return [r.status, await r.json()];
};

const auctions = { auctions: [
  { type: "listings", slots: 2, products: { ids: [PRODUCT] }, category: { id: "kettles" }, opaqueUserId: "u-1" },
  { type: "banners", slots: 1, slotId: SLOT, device: "desktop" },
] };
let winner;
for (const [path, headers, chunked] of [
  ["/v2/auctions"], ["//v2/auctions"], ["/v2//auctions"],
  ["/v2/auctions", { "content-type": "application/json; charset=utf-8" }],
  ["/v2/auctions", { "content-type": "application/json;charset=ISO-8859-1" }],
  ["/v2/auctions", { "content-type": "text/plain" }],
  ["/v2/auctions", {}, true], ["//v2/auctions", { "content-type": "application/json; charset=utf-8" }, true],
]) {
  const [status, { results }] = await page(path, auctions, headers, chunked);
  assert.equal(status, 201, path);
  assert.deepEqual(results.map((r) => r.resultType), ["listings", "banners"]);
  assert.equal(results[0].winners[0]?.id, PRODUCT);
  assert.match(results[1].winners[0]?.asset[0].url, /^https?:/);
  winner = results[0].winners[0];
}
for (const [path, body, type] of [
  ["//v2/auctions/sponsored-brand", { auctions: [{ winners: 1, placementId: "none", triggers: { searchQuery: "x" } }] }, "brand"],
  ["/v2//auctions//travel", { auctions: [{ type: "hotels", slots: 1, travelContext: { site: "none" } }] }, "hotels"],
]) {
  for (const chunked of [false, true]) {
    const [status, { results }] = await page(path, body, {}, chunked);
    assert.deepEqual([status, results[0].resultType, results[0].winners], [201, type, []], path);
  }
}
const click = () => ({ clicks: [{ id: randomUUID(), occurredAt: new Date().toISOString(), opaqueUserId: "u-1", resolvedBidId: winner.resolvedBidId }] });
assert.deepEqual(await page("/v2/events", click()), [200, {}]);
assert.deepEqual(await page("//v2/events", click(), { "content-type": "application/json; charset=utf-8" }, true), [200, {}]);

// A page reads why it was refused.
for (const [path, body, status, code, headers] of [
  ["/v2/auctions", { auctions: [] }, 400, "missing_auctions"],
  ["/v2/auctions", auctions, 401, "invalid_api_key", { authorization: "Bearer nobody" }],
  ["/v2/events", { clicks: [{}] }, 400, "bad_request"],
]) {
  const [got, answer] = await page(path, body, headers);
  assert.deepEqual([got, answer.errCode], [status, code]);
}
console.log("browser ok");
