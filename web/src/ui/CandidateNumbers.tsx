// The numbers that decided a bid, in the order in which the node applies them.
import { SimpleGrid, Stack, Text } from "@mantine/core";
import type { Schemas } from "../api/schema";
import { formatMoney, formatShare, type Currency } from "./money";

type Candidate = Schemas["serving.Candidate"];

const decimal = (n: number) => n.toLocaleString(undefined, { maximumFractionDigits: 4 });

export function CandidateNumbers({ candidate: c, currency }: { candidate: Candidate; currency: Currency }) {
  const money = (minor: number | undefined) => (minor === undefined ? undefined : formatMoney(minor, currency));
  const numbers: [string, string | undefined, string?][] = [
    ["Bid", money(c.bid)],
    ["Ceiling", money(c.ceiling), "the bid amount, which a target return never exceeds"],
    ["After schedule and segments", money(c.worth)],
    ["Reserve price", money(c.reserve), "the bid has to be above it"],
    ["Budget left", money(c.remaining)],
    ["Held for open clicks", money(c.hold)],
    ["Wallet", money(c.wallet)],
    ["Held in the wallet", money(c.walletHold)],
    ["Wins of the last seconds", money(c.pending)],
    ["Pacing lets it compete", formatShare(c.pacing)],
    ["Drawn number", decimal(c.draw), "competes when below the line above"],
    ["After pacing", money(c.shaded)],
    ["Competes with", money(c.competing)],
    ["Quality", decimal(c.quality)],
    ["Predicted click rate", formatShare(c.clickRate, 2)],
    ["Learned factor", decimal(c.learnedQuality)],
    ["Score", decimal(c.score), "bid × quality, comparable within the auction"],
    [
      "Had to beat",
      c.against &&
        `rank ${c.against.rank}, score ${decimal(c.against.score)}, price ${formatMoney(c.against.price, currency)}`,
    ],
  ];
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, md: 4 }} spacing="xs">
      {numbers
        .filter(([, value]) => value !== undefined)
        .map(([name, value, note]) => (
          <Stack key={name} gap={0}>
            <Text size="xs" c="dimmed">
              {name}
            </Text>
            <Text size="sm" className="figures">
              {value}
            </Text>
            {note && (
              <Text size="xs" c="dimmed">
                {note}
              </Text>
            )}
          </Stack>
        ))}
    </SimpleGrid>
  );
}
