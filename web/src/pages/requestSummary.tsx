// A request for auctions in one line.
import { Text } from "@mantine/core";
import { reasonOf } from "../ui/reasons";

export const kinds = [
  { value: "listings", label: "Listings" },
  { value: "banners", label: "Banners" },
  { value: "brand", label: "Sponsored brand" },
  { value: "hotels", label: "Hotels" },
  { value: "flights", label: "Flights" },
];

interface Summed {
  slots: number;
  winners: number;
  lost: Record<string, unknown> | null;
}

export function filledOf(auctions: Summed[]): string {
  const sum = (of: (auction: Summed) => number) => auctions.reduce((total, auction) => total + of(auction), 0);
  return `${sum((auction) => auction.winners)} of ${sum((auction) => auction.slots)}`;
}

export function MainReasons({ of }: { of: Summed[] }) {
  const counts = new Map<string, number>();
  for (const auction of of) {
    for (const [reason, count] of Object.entries(auction.lost ?? {}))
      counts.set(reason, (counts.get(reason) ?? 0) + Number(count));
  }
  const main = [...counts].sort(([, a], [, b]) => b - a).slice(0, 3);
  if (main.length === 0)
    return (
      <Text size="sm" c="dimmed">
        no bid lost
      </Text>
    );
  return <Text size="sm">{main.map(([reason, count]) => `${reasonOf(reason).short} ${count}`).join(" · ")}</Text>;
}
