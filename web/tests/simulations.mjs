// The page of simulations shows a result of the command, in the browser alone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { binary } from "./node.mjs";

export function simulationTests(given) {
  test("a result of gavel simulate is shown as tables and a plot, and nothing of it is sent", async () => {
    const { browser, demo } = given;
    const directory = mkdtempSync(join(tmpdir(), "gavel-console-simulation-"));
    const [result, other] = [join(directory, "result.json"), join(directory, "other.json")];
    try {
      const size = ["--seeds", "1-2", "--campaigns", "40", "--requests", "500", "--no-bound"];
      execFileSync(binary, ["simulate", ...size, "--policies", "gavel,none", "--leader-loss", "12h+5s", "--json", result]);
      writeFileSync(other, '{"rows": []}');
      for (const scheme of ["light", "dark"]) {
        const window = await openPage(browser, demo.origin, { scheme, expected: [signedOutNotice] });
        const { page } = window;
        await signIn(window);
        await page.getByRole("link", { name: "Simulations" }).click();
        await page.getByRole("heading", { name: "Choose a result" }).waitFor();
        await settled(page);
        const sent = [];
        page.on("request", (request) => sent.push(`${request.method()} ${request.url()}`));
        const input = page.locator("input[type=file]");
        await input.setInputFiles(other);
        await page.getByText("The file is JSON, but not of gavel simulate").waitFor();
        await input.setInputFiles(result);
        const budgets = page.getByRole("region", { name: "Budgets" });
        await budgets.getByRole("cell", { name: "none + hold", exact: true }).waitFor();
        await page.getByText(/^Differences from gavel$/).click();
        await budgets.getByText(/^[+-][\d.]+ ±[\d.]+$/).first().waitFor();
        await page.getByRole("heading", { name: "After the events" }).waitFor();
        await page.getByRole("heading", { name: "Comparison" }).waitFor();
        await settled(page);
        await screenshot(page, `${scheme}-simulation`);
        await checkAccessibility(page, `${scheme} simulation`);
        assert.deepEqual(sent.filter((request) => request.startsWith("POST") || request.includes("result")), []);
        await window.close();
      }
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}
