// A test notice is sent to a webhook of the page, whose receiver sees its signature, and the page shows the result.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";
import { checkAccessibility, openPage, settled, signedOutNotice, signIn } from "./browser.mjs";

// openReceiver answers with a status, which may be changed, and keeps what it received.
async function openReceiver() {
  const receiver = { status: 204, notices: [] };
  const server = createServer(async (request, answer) => {
    let body = "";
    for await (const part of request) body += part;
    receiver.notices.push({ body, signature: request.headers["x-ts-signature-256"] });
    answer.writeHead(receiver.status).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver.address = `http://127.0.0.1:${server.address().port}/gavel`;
  receiver.close = () => server.close();
  return receiver;
}

export function webhookTests(given) {
  test("a webhook is created, its secret is shown once, and a test is delivered or refused", async () => {
    const { browser, demo } = given;
    const receiver = await openReceiver();
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/webhooks");
    await page.getByRole("button", { name: "Create webhook" }).first().click();
    await page.getByLabel("Address").fill(receiver.address);
    await page.getByLabel("Channel").first().fill("wallet");
    await page.getByRole("option", { name: "wallet:empty" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Create webhook" }).click();
    const shown = page.getByRole("dialog", { name: "Copy the secret now" });
    const secret = await shown.getByRole("region").innerText();
    assert.match(secret, /^\w{26}$/);
    await page.keyboard.press("Escape");
    await shown.waitFor({ state: "detached" });

    await page.getByRole("button", { name: `Deliveries and test of ${receiver.address}` }).click();
    const dialog = page.getByRole("dialog", { name: "Deliveries of wallet:empty" });
    await dialog.getByRole("button", { name: "Send a test" }).click();
    await dialog.getByText("The receiver accepted the test.").waitFor();
    await dialog.getByRole("cell", { name: "delivered" }).waitFor();
    const [{ body, signature }] = receiver.notices;
    assert.equal(signature, `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
    assert.equal(JSON.parse(body).channel, "webhook:test");

    receiver.status = 410;
    await dialog.getByRole("button", { name: "Send a test" }).click();
    await dialog.getByText("The test failed: the receiver refused with 410.").waitFor();
    await settled(page);
    await checkAccessibility(page, "deliveries of a webhook");
    receiver.close();
    await window.close();
  });
}
