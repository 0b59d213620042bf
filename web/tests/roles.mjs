// Every role but the admin's, on every page: it sees the pages that are for it, without a refusal, and no others; who may
// not change anything is offered no change. What the node itself allows is tested there, operation by operation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, settled, signedOutNotice } from "./browser.mjs";
import { signInAs } from "./invitations.mjs";
import { listed } from "./views.mjs";

const vendor = "v10";
const admins = ["/start", "/keys", "/webhooks", "/users", "/cluster", "/log"];
const ofVendors = ["/", "/reports", "/campaigns", "/campaigns/:id", "/vendors/:id", "/assets", "/account"];

// roles says for each role who is invited, which pages it sees, and whether it may change anything.
const roles = {
  operator: { sees: (page) => !admins.includes(page), changes: true },
  analyst: { sees: (page) => !admins.includes(page) && page !== "/audit", changes: false },
  vendor_admin: { sees: (page) => ofVendors.includes(page), changes: true, ofVendor: true },
  vendor_analyst: { sees: (page) => ofVendors.includes(page), changes: false, ofVendor: true },
};

const changing = /^(Create|Save|Adjust|Invite|Edit|Terminate|Delete|Upload|Add|Revoke|Approve|Reject|Reverse)/;

export function roleTests(given) {
  for (const [role, { sees, changes, ofVendor }] of Object.entries(roles))
    test(`${role.replace("_", " ")}: every page is shown or is none`, async () => {
      const { browser, demo } = given;
      const [own] = (await demo.api("GET", `/campaign-service/campaigns?vendor_id=${vendor}&limit=1`)).campaigns;
      const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
      const { page } = window;
      await signInAs(window, demo, role, `${role}@example.com`, ofVendor && vendor);
      let offered = 0;
      for (const { page: pattern } of listed()) {
        const path = pattern.replace(":id", pattern.startsWith("/vendors") ? vendor : own.campaignId);
        await window.go(path);
        await settled(page);
        const missing = await page.getByRole("heading", { name: "No such page" }).count();
        assert.equal(missing, sees(pattern) ? 0 : 1, `${role} on ${pattern}`);
        assert.deepEqual(await page.getByRole("alert").allInnerTexts(), [], `${role} on ${pattern}`);
        if (pattern === "/account") continue; // Everybody changes the own account.
        const buttons = await page.getByRole("button", { name: changing }).allInnerTexts();
        offered += buttons.length;
        if (!changes) assert.deepEqual(buttons, [], `${role} on ${pattern}`);
      }
      if (changes) assert.ok(offered > 0, `${role} may change things, and nothing is offered`);
      await window.close();
    });
}
