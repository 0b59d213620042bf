// The browser and the demo of the tests of a file. Needs bin/gavel, and Chromium: GAVEL_BROWSER or /usr/bin/chromium.
import { after, before } from "node:test";
import { launch } from "./browser.mjs";
import { fillDemo, openShop, startNode } from "./node.mjs";

// givenDemo starts them before the first test and ends them after the last one. Only tests may read what is returned.
export function givenDemo() {
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
  return given;
}
