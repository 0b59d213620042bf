// Users of two groups, of which one sees no ads, for the tests of what ads add.

// buyInBoth lets every user ask for a product and some of both groups buy it. wanted says how many, first of those who see an ad and
// then of the others. It returns the two groups.
export async function buyInBoth(demo, product, users, wanted) {
  const groups = [[], []];
  for (const user of users) {
    const auction = { type: "listings", slots: 1, products: { ids: [product] }, opaqueUserId: user };
    const { results } = await demo.send("/v2/auctions", { auctions: [auction] });
    groups[results[0].winners.length > 0 ? 0 : 1].push(user);
  }
  const purchases = wanted
    .flatMap((count, group) => groups[group].slice(0, count))
    .map((user) => ({
      id: `order of ${user}`,
      opaqueUserId: user,
      occurredAt: new Date().toISOString(),
      items: [{ productId: product, quantity: 1, unitPrice: 12.5 }],
    }));
  for (let at = 0; at < purchases.length; at += 20) await demo.send("/v2/events", { purchases: purchases.slice(at, at + 20) });
  return groups;
}

// percent writes a lift as the pages do.
export const percent = (n) => `${n > 0 ? "+" : ""}${n.toLocaleString("en-US")}%`;
