// Runs the published vendors' dialog in a page that is made up, against a node: HOST of the management listener,
// MANAGEMENT_KEY, VENDOR.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { JSDOM } from "jsdom";

const { HOST = "http://127.0.0.1:8081", VENDOR = "v1", PRODUCT = "p1", MANAGEMENT_KEY } = process.env;
const base = HOST + "/public/v1";
const calls = [];
const dom = new JSDOM(
  `<!doctype html><html><head></head><body><div class='ts-promote-target' data-ts-product-id='${PRODUCT}' data-ts-product-name='P' data-ts-product-img-url='http://x/y.png'></div></body></html>`,
  { runScripts: "outside-only", pretendToBeVisual: true, url: "http://shop.example/" },
);
const w = dom.window;
w.fetch = async (u, o) => {
  const r = await fetch(u, o);
  calls.push([o?.method ?? "GET", new URL(u).pathname, r.status]);
  return r;
};
Object.assign(w, { Headers, Request, Response, AbortController, AbortSignal });
w.HTMLCanvasElement.prototype.getContext = () => ({ measureText: () => ({ width: 0 }) });
w.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} };
w.exports = {};
w.module = { exports: w.exports };
const errors = [];
w.console.error = (...all) => errors.push(all.map(String).join(" "));
w.eval(readFileSync(createRequire(import.meta.url).resolve("@topsort/building-blocks"), "utf8"));
const { TopsortBlocks } = w.module.exports.TopsortBlocks ? w.module.exports : w;
const blocks = new TopsortBlocks();
await blocks.init({ authUrl: base + "/modal-service", externalVendorId: VENDOR, centralServicesUrl: base, extraAuthHeaders: { Authorization: "Bearer " + MANAGEMENT_KEY } });
await blocks.useProductPromotion();
const soon = async (what, good) => {
  for (let i = 0; i < 100; i++) {
    if (good()) return;
    await new Promise((r) => setTimeout(r, 100));
  }
  assert.fail(what + ": " + JSON.stringify(calls) + " " + errors.join("; "));
};
const called = (method, end) => calls.some(([m, p, s]) => m === method && p.endsWith(end) && s === 200);
await soon("the page loads", () => called("POST", "/products") && called("GET", "/default-budget") && called("GET", "/marketplace-details"));
for (const [method, path, status] of calls) assert.equal(status, 200, method + " " + path);
assert.deepEqual(errors, []);
console.log("building-blocks ok");

// What the buttons of the dialog send, and whether it can read the answers, beside the page.
const token = (await (await fetch(`${base}/modal-service/auth/vendors/${VENDOR}`, { headers: { authorization: "Bearer " + MANAGEMENT_KEY } })).json()).authToken;
const send = async (method, path, body) => {
  const r = await fetch(base + "/modal-service/" + path, { method, headers: { authorization: "Bearer " + token, "content-type": "application/json", "x-ua": "test" }, body: body && JSON.stringify(body) });
  assert.equal(r.status, 200, method + " " + path + " " + (r.status === 200 ? "" : await r.clone().text()));
  return r.json();
};
const day = (n) => new Date(Date.now() + n * 86400e3).toISOString();
const made = await send("POST", `vendors/${VENDOR}/campaigns`, {
  name: "P Campaign", budget: { amount: 2000, type: "daily" }, startDate: day(0), endDate: day(15), isActive: true, campaignType: "autobidding",
  promotionType: { adFormat: "listing" }, bids: [{ target: { id: PRODUCT, type: "product" }, trigger: { type: "product", value: { productId: PRODUCT } } }],
  currencyCode: (await send("GET", "vendors/marketplace-details")).currencyCode,
});
assert.equal((await send("POST", `vendors/${VENDOR}/products`, [PRODUCT]))[PRODUCT], made.campaignId);
const report = await send("GET", `reporting/campaigns/${made.campaignId}?start_date=${day(-8).slice(0, 10)}&end_date=${day(0).slice(0, 10)}`);
assert.equal(typeof report.auctions.percentageWon, "number");
assert.equal(report.purchases.countByProduct, null);
await send("PATCH", `vendors/${VENDOR}/campaigns/${made.campaignId}`, { budget: { amount: 2500, type: "daily" }, endDate: day(20) });
assert.equal(await send("DELETE", `vendors/${VENDOR}/campaigns/${made.campaignId}`), null);
console.log("dialog ok");
process.exit(0);
