// Invites people and accepts for them, for the tests of what a role sees.

// invite returns the link with which somebody takes a role, of a vendor if one is named.
async function invite(node, role, email, vendor) {
  if (!vendor) return (await node.console("POST", "/users", { email, role })).acceptUrl;
  const invites = [{ vendorEmail: email, vendorId: vendor, targetUserRole: role }];
  return (await node.api("POST", "/invitation-service/invitations", { invites })).invites[0].acceptUrl;
}

// signInAs invites somebody who is not known yet, and accepts in the window.
export async function signInAs({ page }, node, role, email, vendor) {
  await page.goto(await invite(node, role, email, vendor));
  await page.getByLabel("Name").fill("Robin");
  await page.getByRole("textbox", { name: "Password" }).fill("a long enough password");
  await page.getByRole("button", { name: "Accept and sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}
