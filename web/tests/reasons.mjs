// The inspector explains a bid that lost, for each reason. A node makes all reasons that a request can bring about; the two
// that need a lagging cluster and a day of pacing are answers of the test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { openPage, settled, signedOutNotice, signIn } from "./browser.mjs";
import { startNode, until } from "./node.mjs";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");

// engineReasons are the reasons of the engine, texts what the console says about them.
const engineReasons = [...read("../../shard/auction/reason.go").split("reasonNames")[1].matchAll(/"(\w+)"/g)].map(([, name]) => name);
const entry = /^ {2}(\w+): \{\s*short: "([^"]+)",\s*why: "([^"]+)",\s*help: "([^"]+)"/gms;
const texts = new Map(
  [...read("../src/ui/reasons.ts").matchAll(entry)].map(([, name, short, why, help]) => [name, { short, why, help }]),
);

const day = 86_400_000;
const inDays = (days) => new Date(Date.now() + days * day).toISOString();
const vendor = "seller";

// Shop makes what bids on the products of a reason.
class Shop {
  constructor(node) {
    this.node = node;
  }

  async products(...ids) {
    const products = ids.map((id) => ({ id, name: `Product ${id}`, vendors: [vendor], categories: [], price: 10 }));
    await this.node.api("PUT", "/catalog-search-service/catalogs/products", { products });
  }

  // campaign bids on the product with the name of the reason, unless more says otherwise.
  campaign(product, { bid, seller = vendor, ...more } = {}) {
    return this.node.api("POST", `/campaign-service/campaigns?vendor_id=${seller}`, {
      name: `Campaign of ${product}`,
      campaignType: "manual",
      bids: [{ target: { type: "product", id: product }, amount: 50, ...bid }],
      ...more,
    });
  }
}

const listing = (id, more) => ({ type: "listings", slots: 1, products: { ids: [id] }, ...more });
const keyword = (word, matchType) => ({ type: "keyword", value: { words: [word], matchType } });

let nextUser = 0;

// made are the reasons that a node makes: what has to be there, and the auction in which the bid loses.
const made = {
  inactive: { prepare: (shop, id) => shop.campaign(id, { isActive: false }) },
  not_started: { prepare: (shop, id) => shop.campaign(id, { startDate: inDays(1) }) },
  ended: { prepare: (shop, id) => shop.campaign(id, { startDate: inDays(-2), endDate: inDays(-1) }) },
  not_approved: { prepare: (shop, id) => shop.campaign(id, { status: "pending" }) },
  product_inactive: {
    prepare: async (shop, id) => {
      await shop.campaign(id);
      await shop.node.api("PATCH", "/catalog-search-service/catalogs/products", { products: [{ id, active: false }] });
    },
  },
  trigger: { prepare: (shop, id) => shop.campaign(id, { bid: { triggers: [keyword("tea", "exact")] } }) },
  device: {
    auction: () => ({ type: "banners", slots: 1, slotId: "top", device: "desktop" }),
    prepare: async (shop) => {
      const size = { width: 600, height: 300 };
      await shop.node.api("POST", "/media-service/slots", {
        slotId: "top",
        position: "landing",
        dimensions: { desktop: { width: 1200, height: 300 }, mobile: size },
      });
      const image = { url: "https://images.example.com/a.png", contentType: "image/png", dimensions: size, size: 4096 };
      await shop.campaign("device", {
        adFormat: "banner",
        bid: {
          target: { type: "url", id: "https://shop.example.com/summer" },
          formatProperties: { adFormat: "banner", slotId: "top", deviceType: "mobile", bannerAssets: [image] },
        },
      });
    },
  },
  geo: {
    prepare: (shop, id) => shop.campaign(id, { bid: { location: "berlin" } }),
    auction: (id) => listing(id, { geoTargeting: { location: "munich" } }),
  },
  segment: {
    prepare: async (shop, id) => {
      await shop.node.api("PUT", "/segment-service/segments", { segments: [{ id: "loyal", name: "Loyal buyers" }] });
      await shop.campaign(id, { targetingFilters: { targetingFilters: [{ type: "user_segment", segmentId: "loyal" }] } });
    },
  },
  excluded: {
    prepare: (shop, id) =>
      shop.campaign(id, {
        bid: { triggers: [{ type: "product", value: { productId: id } }, keyword("used", "negative_broad")] },
      }),
    auction: (id) => listing(id, { searchQuery: "used kettle" }),
  },
  filter: {
    prepare: (shop, id) => shop.campaign(id),
    auction: (id) => listing(id, { filter: { attributes: ["colour:red"] } }),
  },
  reserve: { prepare: (shop, id) => shop.campaign(id, { bid: { amount: 10 } }) },
  budget: { prepare: (shop, id) => shop.campaign(id, { budget: { amount: 1, type: "total" } }) },
  wallet: {
    prepare: async (shop, id) => {
      await shop.node.api("PUT", "/catalog-search-service/catalogs/vendors", { vendors: [{ id: "poor", name: "Poor" }] });
      await shop.campaign(id, { seller: "poor" });
    },
  },
  frequency: {
    auction: (id) => listing(id, { opaqueUserId: "fred" }),
    prepare: async (shop, id) => {
      const { campaignId } = await shop.campaign(id);
      const oneImpressionADay = { restrictionTypeId: 1, limit: 1 };
      await shop.node.api("POST", `/campaign-service/campaigns/${campaignId}/restrictions`, oneImpressionADay);
      const send = (path, body) =>
        fetch(`${shop.node.auctions}${path}`, {
          method: "POST",
          headers: { Authorization: `Bearer ${shop.node.keys().auctionKey}` },
          body: JSON.stringify(body),
        }).then((answer) => answer.json());
      let winners = [];
      await until(() => "an ad is shown to fred", async () => {
        const { results } = await send("/v2/auctions", { auctions: [listing(id, { opaqueUserId: "fred" })] });
        winners = results[0].winners;
        return winners.length > 0;
      });
      const [{ resolvedBidId }] = winners;
      const impression = { id: "seen-by-fred", opaqueUserId: "fred", occurredAt: new Date().toISOString(), resolvedBidId };
      await send("/v2/events", { impressions: [impression] });
    },
  },
  exclusive: {
    prepare: async (shop, id) => {
      await shop.campaign(id);
      await shop.campaign(id, { campaignType: "exclusive" });
    },
  },
  diversity: {
    needed: true,
    prepare: async (shop, id) => {
      await shop.campaign(id);
      await shop.campaign(id, { bid: { amount: 40 } });
    },
  },
  outranked: {
    needed: true,
    auction: (id) => ({ type: "listings", slots: 1, products: { ids: [id, `${id}-better`] } }),
    prepare: async (shop, id) => {
      await shop.products(`${id}-better`);
      await shop.campaign(id, { bid: { amount: 40 } });
      await shop.campaign(`${id}-better`);
    },
  },
  // Of the users, half never see the campaign; which ones depends on its id.
  holdout: {
    prepare: (shop, id) => shop.campaign(id, { holdoutPercent: 50 }),
    auction: (id) => listing(id, { opaqueUserId: `user-${nextUser++}` }),
  },
};

// answered are the reasons of answers that the test gives instead of the node.
const answered = ["stale", "pacing"];

const answerWith = (reason) => ({
  at: new Date().toISOString(),
  operation: "auctions",
  auctions: [
    {
      resultType: "listings",
      slots: 1,
      winners: 0,
      lost: { [reason]: 1 },
      omitted: 0,
      notes: [],
      candidates: [
        {
          outcome: "lost",
          reason,
          campaignId: "00000000-0000-7000-8000-000000000001",
          vendorId: vendor,
          type: "product",
          id: "p",
          chargeType: "CPC",
          bid: 50,
          worth: 50,
          shaded: 50,
          competing: 50,
          reserve: 0,
          pacing: 0.25,
          draw: 0.75,
          quality: 1,
          clickRate: 0.03,
          learnedQuality: 1,
          score: 0,
        },
      ],
    },
  ],
});

export function reasonTests(given) {
  test("every reason of the engine has a text and is tested", () => {
    assert.ok(engineReasons.length >= 20, String(engineReasons));
    assert.deepEqual([...texts.keys()].sort(), [...engineReasons].sort());
    assert.deepEqual([...Object.keys(made), ...answered].sort(), [...engineReasons].sort());
  });

  test("the inspector explains a bid that lost, for each reason", async () => {
    const node = await startNode("serve");
    try {
      const shop = new Shop(node);
      await node.api("PUT", "/catalog-search-service/catalogs/vendors", { vendors: [{ id: vendor, name: "Seller" }] });
      await node.api("POST", `/billing-service/vendors/${vendor}/balance`, { balance: 1_000 });
      await node.api("PATCH", "/marketplace-service/settings", { reservePrice: { CPC: 10 } });
      await shop.products(...Object.keys(made));
      const window = await openPage(given.browser, node.origin, { expected: [signedOutNotice] });
      const { page } = window;
      await signIn(window);
      await window.go("/playground");
      await settled(page);
      const look = async (reason, auction) => {
        await page.getByLabel("Body of POST /v2/auctions").fill(JSON.stringify({ auctions: [auction] }));
        const explained = page.waitForResponse((response) => response.url().includes("/auctions/explain"));
        await page.getByRole("button", { name: "Run and explain" }).click();
        await explained;
        const { short, why, help } = texts.get(reason);
        await page.getByRole("tab", { name: short, exact: true }).click();
        await page.getByText(`${why} ${help}`, { exact: true }).first().waitFor();
        await page.getByRole("button", { name: "Numbers" }).first().click();
        await page.getByText("Reserve price", { exact: true }).first().waitFor();
        if (made[reason]?.needed) await page.getByText(/^would have won with \D?\d/).first().waitFor();
      };
      for (const [reason, { prepare, auction = listing }] of Object.entries(made)) {
        await prepare(shop, reason);
        let body;
        let lost;
        await until(() => `a bid loses for the reason ${reason}, not ${JSON.stringify(lost)}`, async () => {
          body = auction(reason);
          lost = (await node.explain(body)).lost;
          return lost[reason] > 0;
        });
        await look(reason, body);
      }
      for (const reason of answered) {
        await page.route("**/auctions/explain*", (route) => route.fulfill({ json: answerWith(reason) }), { times: 1 });
        await look(reason, listing("p"));
      }
      await window.close();
    } finally {
      await node.remove();
    }
  });
}
