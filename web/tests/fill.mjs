// The tables of slots and placements show the share of recorded auctions with a winner, as the node counts them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { startNode, until } from "./node.mjs";
import { inEach, views } from "./views.mjs";

// asShown is a place's fill as a cell shows it, with a line for the number of auctions.
const asShown = ({ filled, auctions }) =>
  `${Number(((filled / auctions) * 100).toFixed(1))}%\nof ${auctions.toLocaleString("en-US")} auction${auctions === 1 ? "" : "s"}`;

// look compares what the pages show with what they have read.
async function look(browser, demo) {
  const { placements } = await demo.api("GET", "/placement-service/placements?limit=1");
  const { slots } = await demo.api("GET", "/media-service/slots?limit=25");
  const [{ externalPlacementId, placementId }] = placements;
  for (const name of [externalPlacementId, placementId, externalPlacementId]) // By its external id, or by its id.
    await demo.send("/v2/auctions/sponsored-brand", {
      auctions: [{ winners: 1, placementId: name, triggers: { searchQuery: "shoes" } }],
    });
  let fill;
  await until(() => `the shoppers' auctions are recorded: ${JSON.stringify(fill)}`, async () => {
    fill = await demo.api("GET", "/auctions/fill");
    return fill.places.some(({ resultType }) => resultType === "banners");
  });
  const [busiest] = fill.places.filter(({ resultType, name }) => slots.some((one) => resultType === "banners" && one.externalId === name));
  const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
  const { page } = window;
  await signIn(window);
  for (const [type, address, label, names] of [
    ["banners", "/placements?tab=slots", "Slots", [busiest.name]],
    ["brand", "/placements", "Placements", [externalPlacementId, placementId]], // Both count.
  ]) {
    const read = page.waitForResponse((response) => response.url().includes("/auctions/fill"));
    await window.go(address);
    const counted = (await (await read).json()).places.filter((one) => one.resultType === type && names.includes(one.name));
    assert.equal(counted.length, names.length);
    const sum = (member) => counted.reduce((total, one) => total + one[member], 0);
    await settled(page);
    const row = page.getByRole("region", { name: label }).getByRole("row", { name: names[0] });
    const text = await row.getByRole("cell").filter({ hasText: /of [\d,]+ auction/ }).innerText();
    assert.equal(text.replace(/\n+/g, "\n"), asShown({ auctions: sum("auctions"), filled: sum("filled") }));
    await page.getByText(/^Recent fill is the share of auctions with a winner/).waitFor();
    await inEach(page, views, async ({ name }) => {
      await screenshot(page, `${name}-fill-${type}`);
      if (name !== "narrow") await checkAccessibility(page, address);
    });
    await page.setViewportSize(views[0]);
  }
  await window.close();
}

export function fillTests(given) {
  test("slots and placements show their recent fill", async () => {
    const small = ["--campaigns", "60", "--products", "500", "--vendors", "10", "--shoppers", "5", "--history-days", "0"];
    const demo = await startNode("demo", { flags: [...small, "--explain-sample", "1"] }); // All auctions are recorded.
    try {
      await look(given.browser, demo);
    } finally {
      await demo.remove();
    }
  });
}
