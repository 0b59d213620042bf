// Requests of the live stream. A click explains one with the market of now.
import { Button, Group, Modal, Select, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import type { LiveAd, LiveSample } from "../api/live";
import { useWrite } from "../api/query";
import { useCurrent } from "../api/session";
import { Identifier, Json } from "../ui/Copy";
import { DataTable } from "../ui/DataTable";
import { EventsAndCharge } from "../ui/EventsAndCharge";
import { Inspector } from "../ui/Inspector";
import { Empty, Failure, Loading } from "../ui/States";
import { Time } from "../ui/time";
import { filledOf, kinds, MainReasons } from "./requestSummary";

const shownMax = 50;

export function LiveRequests({ samples }: { samples: LiveSample[] }) {
  const [kind, setKind] = useState<string | null>(null);
  const [campaign, setCampaign] = useState("");
  const [place, setPlace] = useState("");
  const [onlyEmpty, setOnlyEmpty] = useState(false);
  const [picked, setPicked] = useState<LiveSample | null>(null);
  const rows = samples
    .filter(
      (one) =>
        (!kind || one.auctions.some((auction) => auction.resultType === kind)) &&
        (!place || placesOf(one).includes(place)) &&
        (!onlyEmpty || one.auctions.some((auction) => auction.winners === 0)) &&
        (!campaign || one.auctions.some((auction) => auction.ads?.some((ad) => ad.campaignId?.startsWith(campaign)))),
    )
    .slice(0, shownMax);
  return (
    <Stack>
      <Group align="flex-end">
        <Select label="Kind" placeholder="All kinds" data={kinds} value={kind} onChange={setKind} clearable w={180} />
        <TextInput
          label="Won by campaign"
          placeholder="Campaign id"
          value={campaign}
          onChange={(e) => setCampaign(e.currentTarget.value.trim())}
          w={200}
        />
        <TextInput
          label="Slot or placement"
          placeholder="Its id in the request"
          value={place}
          onChange={(e) => setPlace(e.currentTarget.value.trim())}
          w={180}
        />
        <Switch
          label="Only with empty results"
          checked={onlyEmpty}
          onChange={(event) => setOnlyEmpty(event.currentTarget.checked)}
          mb={8}
        />
      </Group>
      <DataTable
        label="Requests"
        rows={rows}
        rowKey={(one) => one.requestId}
        minWidth={820}
        empty={
          <Empty title={samples.length > 0 ? "No request fits the filter" : "Waiting for the next request"}>
            {samples.length === 0 && "Requests appear here as soon as the storefront sends them."}
          </Empty>
        }
        columns={[
          { name: "Time", cell: (one) => <Time at={one.time} format="clock" /> },
          {
            name: "Auctions",
            cell: (one) => one.auctions.map((auction) => auction.resultType.replaceAll("_", " ")).join(", "),
          },
          { name: "Filled", align: "right", cell: (one) => filledOf(one.auctions) },
          {
            name: "Winners",
            cell: (one) => (
              <Text size="sm" lineClamp={1}>
                {winnersOf(one)}
              </Text>
            ),
          },
          { name: "Main reasons for losing", cell: (one) => <MainReasons of={one.auctions} /> },
          {
            name: "Inspect",
            hidden: true,
            align: "right",
            cell: (one) => (
              <Button
                size="xs"
                variant="default"
                onClick={() => setPicked(one)}
                aria-label={`Inspect the request ${one.requestId}`}
              >
                Inspect
              </Button>
            ),
          },
        ]}
      />
      <Modal
        opened={picked !== null}
        onClose={() => setPicked(null)}
        size="80%"
        title="Auction inspector"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picked && <Inspected sample={picked} />}
      </Modal>
    </Stack>
  );
}

const winnersOf = (one: LiveSample) =>
  one.auctions
    .flatMap((auction) => auction.ads ?? [])
    .map((ad) => ad.id)
    .join(", ") || "none";

// placesOf returns the slots and placements that a request names.
const placesOf = (one: LiveSample) =>
  ((one.request?.auctions ?? []) as { slotId?: unknown; placementId?: unknown }[])
    .flatMap(({ slotId, placementId }) => [slotId, placementId])
    .filter((place) => place !== undefined && place !== null)
    .map(String);

// ServedAds lists the winners of the answer, each with what came of it.
function ServedAds({ of }: { of: LiveAd[] }) {
  const { marketplace } = useCurrent();
  return of.map((ad, index) => (
    <Stack key={ad.resolvedBidId ?? index} gap={4}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        Rank {ad.rank} was {ad.type} {ad.id}
        {ad.resolvedBidId ? "" : ", external demand"}
      </Text>
      {ad.resolvedBidId && (
        <EventsAndCharge id={ad.resolvedBidId} of={`${ad.type} ${ad.id}`} currency={marketplace} />
      )}
    </Stack>
  ));
}

// Inspected explains the request again, because an explanation of every request would slow auctions down.
function Inspected({ sample }: { sample: LiveSample }) {
  const { marketplace } = useCurrent();
  const explain = useWrite((body: Record<string, unknown>) =>
    call("POST /auctions/explain", { query: { operation: sample.operation }, body }),
  );
  const { request } = sample;
  return (
    <Stack>
      <Text size="sm" component="div">
        <Time at={sample.time} format="full" />, request <Identifier value={sample.requestId} length={36} />
      </Text>
      <ServedAds of={sample.auctions.flatMap((auction) => auction.ads ?? [])} />
      {request ? (
        <>
          <Json label="The request, with users masked" value={request} />
          <Group>
            <Button onClick={() => explain.mutate(request)} loading={explain.isPending}>
              Explain with the market of now
            </Button>
          </Group>
        </>
      ) : (
        <Text c="dimmed">The request was too large to be kept.</Text>
      )}
      {explain.error && <Failure error={explain.error} />}
      {explain.isPending && <Loading />}
      {explain.data && <Inspector explanation={explain.data} currency={marketplace} />}
    </Stack>
  );
}
