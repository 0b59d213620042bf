// The auction inspector: every bid of an auction with its outcome, its reason and its numbers.
import { Alert, Anchor, Button, Group, Paper, Stack, Tabs, Text, Title } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import type { Schemas } from "../api/schema";
import { CandidateNumbers } from "./CandidateNumbers";
import { Identifier } from "./Copy";
import { EventsAndCharge } from "./EventsAndCharge";
import { Bars } from "./Figures";
import { formatCount, formatMoney, formatShare, type Currency } from "./money";
import { reasonOf } from "./reasons";
import { State } from "./Badges";

type Auction = Schemas["serving.ExplainedAuction"];
type Candidate = Schemas["serving.Candidate"];

const shownAtFirst = 20;

export function Inspector({
  explanation,
  currency,
}: {
  explanation: Schemas["serving.Explanation"];
  currency: Currency;
}) {
  return (
    <Stack>
      {explanation.auctions.map((auction, i) => (
        <InspectedAuction
          key={i}
          auction={auction}
          number={i + 1}
          of={explanation.auctions.length}
          currency={currency}
        />
      ))}
    </Stack>
  );
}

interface AuctionProps {
  auction: Auction;
  number: number;
  of: number;
  currency: Currency;
}

function InspectedAuction({ auction, number, of, currency }: AuctionProps) {
  const lost = Object.entries((auction.lost ?? {}) as Record<string, number>).sort(([, a], [, b]) => b - a);
  const lostCount = lost.reduce((sum, [, count]) => sum + count, 0);
  return (
    <Paper withBorder radius="md" p={{ base: "sm", sm: "lg" }}>
      <Group justify="space-between" mb="md">
        <Title order={2} size="h4">
          {of > 1 ? `Auction ${number}: ` : ""}
          {auction.resultType.replaceAll("_", " ")}
        </Title>
        <Text>
          {auction.winners} of {auction.slots} slots filled, {formatCount(lostCount)} bids lost
        </Text>
      </Group>
      <Stack>
        {auction.notes.map((note) => (
          <Alert key={note} color="yellow" p="xs">
            {note}
          </Alert>
        ))}
        {lost.length > 0 && (
          <Stack gap="xs">
            <Title order={3} size="h6">
              Why bids lost
            </Title>
            <Bars
              of={lost.map(([reason, count]) => ({
                key: reason,
                count,
                name: reasonOf(reason).short,
                text: `${formatCount(count)} · ${formatShare(count / lostCount)}`,
              }))}
            />
          </Stack>
        )}
        {auction.candidates.length === 0 ? (
          <NoCandidates />
        ) : (
          <Candidates all={auction.candidates} omitted={auction.omitted} currency={currency} />
        )}
      </Stack>
    </Paper>
  );
}

const NoCandidates = () => (
  <Alert color="gray" title="No bid matches the request">
    No campaign bids on these products, categories or words. Check the identifiers that the storefront sends against the
    catalog.
  </Alert>
);

function Candidates({ all, omitted, currency }: { all: Candidate[]; omitted: number; currency: Currency }) {
  const [tab, setTab] = useState<string | null>("all");
  const [shown, setShown] = useState(shownAtFirst);
  const names = [...new Set(all.map((one) => one.reason).filter((reason) => reason !== undefined))];
  const listed = all.filter((one) => tab === "all" || (tab === "won" ? one.outcome === "won" : one.reason === tab));
  return (
    <Stack gap="xs">
      <Tabs value={tab} onChange={setTab} variant="pills">
        <Tabs.List>
          <Tabs.Tab value="all">All {all.length}</Tabs.Tab>
          <Tabs.Tab value="won">Winners</Tabs.Tab>
          {names.map((reason) => (
            <Tabs.Tab key={reason} value={reason}>
              {reasonOf(reason).short}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {listed.slice(0, shown).map((one, i) => (
        <CandidateRow
          key={`${one.bidId ?? one.id}-${one.variationID ?? ""}-${i}`}
          candidate={one}
          currency={currency}
        />
      ))}
      {listed.length > shown && (
        <Button variant="default" onClick={() => setShown(shown + 50)}>
          Show more of {formatCount(listed.length)}
        </Button>
      )}
      {omitted > 0 && (
        <Text size="sm" c="dimmed">
          {formatCount(omitted)} more losers are counted above but not listed.
        </Text>
      )}
    </Stack>
  );
}

function CandidateRow({ candidate, currency }: { candidate: Candidate; currency: Currency }) {
  const [opened, setOpened] = useState(false);
  const won = candidate.outcome === "won";
  const text = won ? undefined : reasonOf(candidate.reason ?? "");
  return (
    <Paper withBorder radius="sm" p="sm">
      <Group justify="space-between" gap="sm">
        <Group gap="sm">
          <State of={won ? "won" : "lost"} />
          <Text fw={600}>{won ? `Rank ${candidate.rank}` : text?.short}</Text>
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            {candidate.type} {candidate.id}
          </Text>
          {candidate.campaignId ? (
            <Anchor size="sm" component={Link} to={`/campaigns/${candidate.campaignId}`}>
              campaign
            </Anchor>
          ) : (
            <Text size="sm" c="dimmed">
              external demand {candidate.demandSource}
            </Text>
          )}
        </Group>
        <Group gap="md">
          <Text size="sm" className="figures">
            bid {formatMoney(candidate.bid, currency)}
          </Text>
          {won && candidate.price !== undefined && (
            <Text size="sm" fw={600} className="figures">
              pays {formatMoney(candidate.price, currency)} {perWhat[candidate.chargeType]}
            </Text>
          )}
          {candidate.needed !== undefined && (
            <Text size="sm" fw={600} className="figures">
              would have won with {formatMoney(candidate.needed, currency)}
            </Text>
          )}
          <Button size="compact-xs" variant="default" onClick={() => setOpened(!opened)} aria-expanded={opened}>
            {opened ? "Less" : "Numbers"}
          </Button>
        </Group>
      </Group>
      {text && (
        <Text size="sm" c="dimmed" mt={4}>
          {text.why} {text.help}
        </Text>
      )}
      {candidate.resolvedBidId && (
        <EventsAndCharge id={candidate.resolvedBidId} of={`${candidate.type} ${candidate.id}`} currency={currency} />
      )}
      {opened && (
        <Stack gap="xs" mt="sm">
          <CandidateNumbers candidate={candidate} currency={currency} />
          {candidate.bidId && (
            <Text size="sm">
              Bid <Identifier value={candidate.bidId} length={36} />
            </Text>
          )}
        </Stack>
      )}
    </Paper>
  );
}

// A bid of CPM is for 1,000 impressions, but the price of an explanation is that of the one interaction which is
// charged.
const perWhat: Record<string, string> = { CPC: "per click", CPM: "per impression", CPA: "per purchase" };
