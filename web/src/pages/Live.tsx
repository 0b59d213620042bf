// Live auctions: what the node samples of its traffic, newest first, each with its inspector.
import { Button, Group, Select, Stack, Switch, Text } from "@mantine/core";
import { useState } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable } from "../ui/DataTable";
import { Inspector } from "../ui/Inspector";
import { Page } from "../ui/Page";
import { reasonOf } from "../ui/reasons";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";
import { LiveRates } from "./LiveRates";

type Explanation = Schemas["serving.Explanation"];

const everyMillis = 3_000;
const kinds = [
  { value: "listings", label: "Listings" }, { value: "banners", label: "Banners" }, { value: "brand", label: "Sponsored brand" },
  { value: "hotels", label: "Hotels" }, { value: "flights", label: "Flights" },
];

export default function Live() {
  const { marketplace } = useCurrent();
  const [paused, setPaused] = useState(false);
  const [kind, setKind] = useState<string | null>(null);
  const [onlyEmpty, setOnlyEmpty] = useState(false);
  const [picked, setPicked] = useState<Explanation | null>(null);
  const recent = useRead("GET /auctions/recent", { query: { consistency: "local" } }, { every: paused ? 0 : everyMillis });
  const rows = recent.data?.recent.filter((one) =>
    (!kind || one.auctions.some((auction) => auction.resultType === kind))
    && (!onlyEmpty || one.auctions.some((auction) => auction.winners === 0)));

  if (picked) {
    return (
      <Page
        title="Auction inspector" about={<>A live request of <Time at={picked.at} format="full" />, with the outcome of every bid.</>}
        actions={<Button variant="default" onClick={() => setPicked(null)}>Back to live auctions</Button>}
      >
        <Inspector explanation={picked} currency={marketplace} />
      </Page>
    );
  }
  return (
    <Page
      title="Live auctions" about={aboutSampling(recent.data?.every)}
      actions={<Button variant="default" onClick={() => setPaused(!paused)}>{paused ? "Continue" : "Pause"}</Button>}
    >
      <LiveRates />
      <Group>
        <Select aria-label="Kind" placeholder="All kinds" data={kinds} value={kind} onChange={setKind} clearable w={180} />
        <Switch label="Only with empty results" checked={onlyEmpty} onChange={(event) => setOnlyEmpty(event.currentTarget.checked)} />
      </Group>
      <DataTable
        label="Sampled requests" rows={rows} rowKey={(one, i) => `${one.at}-${i}`} error={recent.error} retry={() => void recent.refetch()}
        empty={(
          <Empty title="No sampled request yet">
            {recent.data && recent.data.recent.length > 0 ? "No sampled request fits the filter."
              : "A request appears here some time after the storefront sends it. To look at one now, run it in the playground."}
          </Empty>
        )}
        columns={[
          { name: "Time", cell: (one) => <Time at={one.at} format="clock" /> },
          { name: "Auctions", cell: (one) => one.auctions.map((auction) => auction.resultType.replaceAll("_", " ")).join(", ") },
          { name: "Filled", align: "right", cell: (one) => filled(one) },
          { name: "Main reasons for losing", cell: (one) => <MainReasons of={one} /> },
          {
            name: "Inspect", hidden: true, align: "right",
            cell: (one) => (
              <Button size="xs" variant="default" onClick={() => setPicked(one)} aria-label={`Inspect the request of ${one.at}`}>
                Inspect
              </Button>
            ),
          },
        ]}
      />
    </Page>
  );
}

function aboutSampling(every: number | undefined) {
  if (every === undefined) return undefined;
  if (every === 0) return "This node does not sample requests; its setting explain_every switches that on.";
  return `One request in ${every.toLocaleString()} is explained as it happens, the newest 50 are kept.`;
}

const filled = (one: Explanation) =>
  `${one.auctions.reduce((sum, auction) => sum + auction.winners, 0)} of ${one.auctions.reduce((sum, auction) => sum + auction.slots, 0)}`;

function MainReasons({ of }: { of: Explanation }) {
  const counts = new Map<string, number>();
  for (const auction of of.auctions) {
    for (const [reason, count] of Object.entries((auction.lost ?? {}) as Record<string, number>)) {
      counts.set(reason, (counts.get(reason) ?? 0) + count);
    }
  }
  const main = [...counts].sort(([, a], [, b]) => b - a).slice(0, 3);
  if (main.length === 0) return <Text size="sm" c="dimmed">no bid lost</Text>;
  return <Stack gap={0}><Text size="sm">{main.map(([reason, count]) => `${reasonOf(reason).short} ${count}`).join(" · ")}</Text></Stack>;
}
