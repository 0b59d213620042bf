// Requests to start from, one for each kind of auction.
export type Operation = "auctions" | "sponsored-brand" | "travel";

interface Example {
  name: string;
  body: unknown;
}

export function examples(operation: Operation, products: string[]): Example[] {
  const ids = products.length > 0 ? products : ["p1", "p2", "p3"];
  switch (operation) {
    case "auctions":
      return [
        { name: "Listings by product", body: { auctions: [{ type: "listings", slots: 3, products: { ids } }] } },
        { name: "Listings by search", body: { auctions: [{ type: "listings", slots: 3, searchQuery: "green tea" }] } },
        {
          name: "Listings by category",
          body: { auctions: [{ type: "listings", slots: 3, category: { id: "kitchen" } }] },
        },
        { name: "Banner", body: { auctions: [{ type: "banners", slots: 1, slotId: "home-top", device: "desktop" }] } },
      ];
    case "sponsored-brand":
      return [
        {
          name: "Sponsored brand",
          body: { auctions: [{ winners: 1, placementId: "brand-row", triggers: { searchQuery: "yoga mat" } }] },
        },
      ];
    case "travel":
      return [
        {
          name: "Hotels",
          body: {
            auctions: [
              {
                type: "hotels",
                slots: 2,
                travelContext: { site: "demo", travelerType: "couple" },
                category: { id: "travel-beach" },
              },
            ],
          },
        },
        {
          name: "Flights",
          body: {
            auctions: [
              {
                type: "flights",
                slots: 2,
                travelContext: { site: "demo", passengers: 2 },
                products: [
                  { id: "flight-1", variationID: "light" },
                  { id: "flight-2", variationID: "flex" },
                ],
              },
            ],
          },
        },
      ];
  }
}
