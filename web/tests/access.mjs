// Sign-in, the first admin, a vendor's view, and a node that goes away and comes back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { admin, startNode } from "./node.mjs";
import { listed } from "./views.mjs";

// ofVendors are the pages that users of vendors see.
const ofVendors = ["/", "/reports", "/campaigns", "/campaigns/:id", "/vendors/:id", "/assets", "/account"];

// awayNotices are what the browser reports about calls to a node that is away.
const awayNotices = [signedOutNotice, "ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE", "503", "502"];

export function accessTests(given) {
  test("a wrong password is refused, the right one signs in, and signing out ends the session", async () => {
    const { browser, demo } = given;
    // The overview may just ask for its stream when the session ends, which the browser reports too.
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice, "/console/api/live"] });
    const { page } = window;
    await page.goto(`${demo.origin}/`); // The address of the node is enough.
    await page.getByLabel("Email").fill(admin.email);
    await page.getByRole("textbox", { name: "Password" }).fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await checkAccessibility(page, "sign in");
    await screenshot(page, "light-sign-in");
    await signIn(window);
    await page.getByRole("button", { name: admin.email }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await window.go("/keys");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await window.close();
  });

  test("the one-time link makes the first admin, whose first auction turns the page green", async () => {
    const node = await startNode("serve", { withAdmin: false });
    try {
      const window = await openPage(given.browser, node.origin, { expected: [signedOutNotice] });
      const { page } = window;
      await window.go("/");
      await page.getByText("This node has no admin yet").waitFor();
      await screenshot(page, "light-no-admin");
      const link = /http:\S+\/console\/setup#token=\S+/.exec(node.log)?.[0];
      assert.ok(link, `the node prints the link:\n${node.log}`);
      await page.goto(link);
      await page.reload();
      await page.getByLabel("Email").fill("first@example.com");
      await page.getByLabel("Name").fill("First");
      await page.getByRole("textbox", { name: "Password" }).fill("a long enough password");
      await page.getByRole("button", { name: "Create the admin" }).click();
      await page.getByRole("heading", { name: "Send your first auction" }).waitFor();
      await page.getByRole("button", { name: "Create an auction key" }).click();
      const command = await page.getByRole("region", { name: "In a terminal" }).innerText();
      const key = /gavel_auc_[\w-]+/.exec(command)[0];
      assert.equal((await node.auction(key, ["p1"])).status, 201);
      await page.getByText("The node has answered an auction").waitFor();
      await screenshot(page, "light-first-auction");
      await window.close();
    } finally {
      await node.remove();
    }
  });

  test("a person of a vendor sees the vendor and nothing else", async () => {
    const { browser, demo } = given;
    const { invites } = await demo.api("POST", "/invitation-service/invitations", {
      invites: [{ vendorEmail: "vera@example.com", vendorId: "v10", targetUserRole: "vendor_admin" }],
    });
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice, "403", "404"] });
    const { page } = window;
    await page.goto(invites[0].acceptUrl);
    await page.getByLabel("Name").fill("Vera");
    await page.getByRole("textbox", { name: "Password" }).fill("a long enough password");
    await page.getByRole("button", { name: "Accept and sign in" }).click();
    const navigation = page.getByRole("navigation", { name: "Pages" });
    await navigation.waitFor();
    assert.deepEqual(await navigation.getByRole("link").allInnerTexts(), [
      "Overview",
      "Reports",
      "Campaigns",
      "Assets",
      "Wallets",
    ]);
    const [own] = (await demo.api("GET", "/campaign-service/campaigns?vendor_id=v10&limit=1")).campaigns;
    const { campaigns } = await demo.api("GET", "/campaign-service/campaigns?limit=100");
    const foreign = campaigns.find(({ vendorId }) => vendorId !== "v10");
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const path of ["/", "/reports", "/campaigns", `/campaigns/${own.campaignId}`, "/assets", "/vendors/v10", "/account"]) {
        await window.go(path);
        await settled(page);
        assert.equal(
          await page.getByRole("alert").count(),
          0,
          `${path}: ${await page.getByRole("alert").allInnerTexts()}`,
        );
        await screenshot(page, `${colorScheme}-vendor${path.replace(own.campaignId, "one").replaceAll(/[^a-z0-9]+/gi, "-")}`);
        await checkAccessibility(page, `vendor ${colorScheme} ${path}`);
      }
    }
    // The pages of everybody else are none, and what is another vendor's is not known.
    for (const path of listed().map(({ page }) => page).filter((path) => !ofVendors.includes(path))) {
      await window.go(path.replace(":id", "1"));
      await page.getByRole("heading", { name: "No such page" }).waitFor();
    }
    for (const path of [`/campaigns/${foreign.campaignId}`, `/vendors/${foreign.vendorId}`]) {
      await window.go(path);
      await page.getByRole("alert").first().waitFor();
      const text = await page.locator("body").innerText();
      for (const secret of [foreign.name, "Spend of the budget", "Wallet of"]) assert.ok(!text.includes(secret), `${path} shows ${secret}`);
    }
    await window.close();
  });

  test("a colleague is invited as an analyst, sees what analysts may see, and is removed", async () => {
    const { browser, demo } = given;
    const inviting = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    await signIn(inviting);
    await inviting.go("/users");
    await inviting.page.getByRole("button", { name: "Invite a colleague" }).first().click();
    // The table behind the dialog also has a field of a role for every user, so the dialog is named.
    const dialog = inviting.page.getByRole("dialog");
    await dialog.getByLabel("Email").fill("ann@example.com");
    await dialog.getByRole("combobox", { name: "Role" }).click();
    await inviting.page.getByRole("option", { name: /^Analyst/ }).click();
    await dialog.getByRole("button", { name: "Invite", exact: true }).click();
    await inviting.page.getByRole("button", { name: "Copy link for ann@example.com" }).click();
    const link = await inviting.page.evaluate(() => navigator.clipboard.readText());

    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice, "401"] });
    const { page } = window;
    await page.goto(link);
    await page.getByLabel("Name").fill("Ann");
    await page.getByRole("textbox", { name: "Password" }).fill("a long enough password");
    await page.getByRole("button", { name: "Accept and sign in" }).click();
    const navigation = page.getByRole("navigation", { name: "Pages" });
    await navigation.waitFor();
    const links = await navigation.getByRole("link").allInnerTexts();
    assert.ok(links.includes("Live auctions") && links.includes("Settings"), String(links));
    for (const hidden of ["API keys", "Webhooks", "Users", "Audit log", "Cluster", "Log"])
      assert.ok(!links.includes(hidden), hidden);
    for (const path of [
      "/",
      "/live",
      "/campaigns",
      "/vendors/v10",
      "/placements",
      "/audiences",
      "/settings",
      "/reports?by=campaign",
    ]) {
      await window.go(path);
      await settled(page);
      assert.equal(
        await page.getByRole("alert").count(),
        0,
        `${path}: ${await page.getByRole("alert").allInnerTexts()}`,
      );
      assert.equal(
        await page.getByRole("button", { name: /^(Create|Save|Adjust|Invite)/ }).count(),
        0,
        `${path} offers a change`,
      );
    }

    await inviting.page.reload();
    await inviting.page.getByRole("button", { name: "Remove ann@example.com" }).click();
    await inviting.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await inviting.page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Campaigns" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor(); // The session has ended.
    await window.close();
    await inviting.close();
  });

  // Each of the two finds out in its own way: a page that reads every few seconds, and one that only has a stream.
  for (const [path, shown] of [
    ["/cluster", (page) => page.getByText("The cluster is healthy")],
    ["/live", (page) => page.getByRole("img", { name: "Auctions per second of the last two minutes" })],
  ])
    test(`a node that stops gives a message on ${path}, and the page goes on without a reload when it is back`, async () => {
      const { browser, demo } = given;
      const window = await openPage(browser, demo.origin, {
        expected: awayNotices,
      });
      const { page } = window;
      await signIn(window);
      await window.go(path);
      await shown(page).first().waitFor();
      await page.evaluate(() => {
        window.notReloaded = true;
      });
      const notice = page.getByText("The node does not answer", { exact: true });
      await demo.stop();
      try {
        await notice.waitFor();
        await page.mouse.move(700, 850); // Off the link, whose colours differ under the mouse.
        await checkAccessibility(page, `${path}, without the node`);
      } finally {
        await demo.start(); // The tests that follow need it.
      }
      await notice.waitFor({ state: "detached" });
      await shown(page).first().waitFor();
      await page.getByRole("link", { name: "Campaigns" }).click();
      await page.getByRole("switch").first().waitFor(); // A campaign is listed.
      assert.equal(await page.evaluate(() => window.notReloaded), true);
      await window.close();
    });

  test("a page that was never opened goes on without a reload when the node is back", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: awayNotices });
    const { page } = window;
    await signIn(window);
    await page.evaluate(() => {
      window.notReloaded = true;
    });
    await page.waitForFunction(() =>
      performance.getEntriesByType("resource").some(({ name }) => name.includes("/assets/Placements-")),
    );
    const notice = page.getByText("The node does not answer", { exact: true });
    await demo.stop();
    try {
      await page.getByRole("link", { name: "Placements" }).click();
      await notice.waitFor();
    } finally {
      await demo.start();
    }
    await page.getByRole("table").getByRole("button").first().waitFor();
    assert.equal(await page.evaluate(() => window.notReloaded), true);
    await window.close();
  });

  test("a page whose script is on its way when the node stops appears when the node is back", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: awayNotices });
    const { page } = window;
    const held = [];
    await page.route("**/assets/Placements-*.js", (route) => {
      held.push(route);
    });
    await signIn(window);
    await page.getByRole("link", { name: "Placements" }).click();
    while (held.length === 0) await page.waitForTimeout(20);
    await demo.stop();
    try {
      for (const route of held) await route.abort("connectionrefused");
      await page.unroute("**/assets/Placements-*.js");
      await page.getByText("The node does not answer", { exact: true }).waitFor();
    } finally {
      await demo.start();
    }
    await page.getByRole("table").getByRole("button").first().waitFor();
    await window.close();
  });

  test("a node that takes long gives a message, and the page goes on when the answer is there", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await settled(page);
    const held = [];
    await page.route("**/placement-service/placements*", (route) => {
      held.push(route);
    });
    await page.getByRole("link", { name: "Placements" }).click();
    const notice = page.getByText("The node takes long to answer", { exact: true });
    await notice.waitFor();
    await checkAccessibility(page, "a slow node");
    await screenshot(page, "light-slow-node");
    for (const route of held) await route.continue();
    await notice.waitFor({ state: "detached" });
    await page.getByRole("table").getByRole("button").first().waitFor();
    await window.close();
  });
}
