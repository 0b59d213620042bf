import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { TopsortClient as C038 } from "@topsort/sdk";
import * as sdk032 from "sdk032";
import * as sdk020 from "sdk020";

const { HOST = "http://127.0.0.1:8080", AUCTION_KEY, MANAGEMENT_KEY, PRODUCT = "p1", SLOT = "home-top" } = process.env;
const make = {
  "0.3.8": (c) => new C038(c),
  "0.3.2": (c) => new sdk032.TopsortClient(c),
  "0.2.0": (c) => ({ createAuction: (b) => sdk020.createAuction(c, b), reportEvent: (b) => sdk020.reportEvent(c, b) }),
};
const fails = async (p, status, code) => {
  const e = await p.then(() => null, (x) => x);
  assert.ok(e, `expected ${status} ${code}`);
  assert.equal(e.status, status);
  assert.equal(e.body?.errCode, code);
};
for (const [v, mk] of Object.entries(make)) {
  for (const host of [HOST, HOST + "/"]) {
    const c = mk({ apiKey: AUCTION_KEY, host });
    const { results } = await c.createAuction({ auctions: [
      { type: "listings", slots: 2, products: { ids: [PRODUCT, "p-none"] } },
      { type: "banners", slots: 1, slotId: SLOT, device: "desktop" },
    ] });
    assert.deepEqual(results.map((r) => [r.resultType, r.error]), [["listings", false], ["banners", false]]);
    results.forEach((r) => r.winners.forEach((w, i) => {
      assert.equal(w.rank, i + 1);
      for (const f of ["id", "type", "resolvedBidId", "campaignId"]) assert.equal(typeof w[f], "string", f);
      if (r.resultType === "banners") assert.match(w.asset[0].url, /^https?:/);
    }));
    const [w] = results[0].winners;
    assert.ok(w, "the fixture campaign must win");
    assert.equal(results[1].winners[0]?.type, "url", "the fixture banner must win");
    const base = { occurredAt: new Date().toISOString(), opaqueUserId: "u-1", placement: { path: "/x", categoryId: "" } };
    const click = { clicks: [{ ...base, id: randomUUID(), resolvedBidId: w.resolvedBidId, clickType: "add_to_cart" }] };
    const done = { ok: true, retry: false };
    assert.deepEqual(await c.reportEvent(click), done);
    assert.deepEqual(await c.reportEvent(click), done);
    assert.deepEqual(await c.reportEvent({ purchases: [{ ...base, id: "0.73" + Math.random(), orderId: "o", items: [{ productId: PRODUCT, quantity: 1, unitPrice: 12.95 }] }] }), done);
    await fails(c.createAuction({ auctions: [] }), 400, "missing_auctions");
    await fails(c.reportEvent({ impressions: [{ ...base, id: "i1", resolvedBidId: "forged" }] }), 400, "invalid_resolved_bid_id");
    await fails(c.reportEvent({ clicks: [{ ...base, id: "c9", occurredAt: "2999-01-01T00:00:00Z", resolvedBidId: w.resolvedBidId }] }), 400, "invalid_event_time");
  }
  await fails(mk({ apiKey: "bad", host: HOST }).createAuction({ auctions: [] }), 401, "invalid_api_key");
  if (MANAGEMENT_KEY) await fails(mk({ apiKey: MANAGEMENT_KEY, host: HOST }).createAuction({ auctions: [] }), 403, "invalid_api_key");
  console.log("sdk", v, "ok");
}
for (const path of ["/v2/auctions/sponsored-brand", "/v2/auctions/travel", "//v2//events"]) {
  const r = await fetch(HOST + path, { method: "OPTIONS", headers: { origin: "https://shop.example", "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type" } });
  assert.equal(r.status, 204, path);
  assert.equal(r.headers.get("access-control-allow-origin"), "*", path);
  assert.match(r.headers.get("access-control-allow-methods"), /POST/, path);
}
const pre = await fetch(HOST + "/v2/events", { method: "OPTIONS", headers: { origin: "https://shop.example", "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type,x-ua" } });
assert.equal(pre.status, 204);
assert.equal(pre.headers.get("access-control-allow-origin"), "*");
assert.match(pre.headers.get("access-control-allow-headers"), /x-ua/i);
for (const [m, p, s] of [["GET", "/v2/events", 405], ["POST", "/v2/auctions/", 404], ["POST", "/nope", 404]]) {
  const r = await fetch(HOST + p, { method: m, redirect: "manual", headers: { authorization: "Bearer " + AUCTION_KEY } });
  assert.equal(r.status, s, m + " " + p);
  assert.equal(r.headers.get("access-control-allow-origin"), "*");
  assert.ok((await r.json()).errCode);
}
console.log("raw http ok");
