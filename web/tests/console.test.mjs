// Drives the console of real nodes in a real browser. Needs bin/gavel, and Chromium: GAVEL_BROWSER or /usr/bin/chromium.
import { after, before } from "node:test";
import { accessTests } from "./access.mjs";
import { assetTests } from "./assets.mjs";
import { auctionTests } from "./auctions.mjs";
import { bannerTests } from "./banners.mjs";
import { breakdownTests } from "./breakdown.mjs";
import { launch } from "./browser.mjs";
import { eventTests } from "./events.mjs";
import { factorTests } from "./factor.mjs";
import { fillTests } from "./fill.mjs";
import { hostileTests } from "./hostile.mjs";
import { experimentTests } from "./experiment.mjs";
import { incrementalityTests } from "./incrementality.mjs";
import { keyTests } from "./keys.mjs";
import { ledgerTests } from "./ledger.mjs";
import { logTests } from "./log.mjs";
import { manyTests } from "./many.mjs";
import { fillDemo, openShop, startNode } from "./node.mjs";
import { pageTests } from "./pages.mjs";
import { providerTests } from "./provider.mjs";
import { purchaseTests } from "./purchases.mjs";
import { reachTests } from "./reach.mjs";
import { reasonTests } from "./reasons.mjs";
import { reportTests } from "./reports.mjs";
import { roleTests } from "./roles.mjs";
import { savedViewTests } from "./savedViews.mjs";
import { simulationTests } from "./simulations.mjs";
import { templateTests } from "./templates.mjs";
import { webhookTests } from "./webhooks.mjs";

const given = { browser: null, demo: null, shop: null };

before(async () => {
  given.browser = await launch();
  given.demo = await startNode("demo", {
    flags: [
      ...["--campaigns", "300", "--products", "5000", "--vendors", "60", "--shoppers", "5", "--history-days", "0"],
      "--webhooks-development", // The receiver of the tests is on this machine.
    ],
  });
  given.shop = await openShop(given.demo);
  await fillDemo(given.demo);
});

after(async () => {
  await given.browser?.close();
  await given.demo?.remove();
});

pageTests(given);
keyTests(given);
auctionTests(given);
reasonTests(given);
eventTests(given);
hostileTests(given);
factorTests(given);
providerTests(given);
purchaseTests(given);
reportTests(given);
ledgerTests(given);
logTests(given);
simulationTests(given);
webhookTests(given);
savedViewTests(given);
bannerTests(given);
templateTests(given);
incrementalityTests(given);
experimentTests(given);
reachTests(given);
breakdownTests(given);
assetTests(given);
fillTests(given);
roleTests(given);
manyTests(given);
accessTests(given);
