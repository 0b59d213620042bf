// Requests that the node explained from the market in which it answered them, newest first.
import { Button, Group, Select, Stack, Switch, Text } from "@mantine/core";
import { useState } from "react";
import { useRecent } from "../api/recent";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable } from "../ui/DataTable";
import { Inspector } from "../ui/Inspector";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";
import { filledOf, kinds, MainReasons } from "./requestSummary";

type Explanation = Schemas["serving.Explanation"];

const everyMillis = 3_000;

export function ExplainedRequests({ paused }: { paused: boolean }) {
  const { marketplace } = useCurrent();
  const [kind, setKind] = useState<string | null>(null);
  const [onlyEmpty, setOnlyEmpty] = useState(false);
  const [picked, setPicked] = useState<Explanation | null>(null);
  const recent = useRecent(marketplace.id, paused ? 0 : everyMillis);
  if (picked) {
    return (
      <Stack>
        <Group justify="space-between">
          <Text component="div">
            A request of <Time at={picked.at} format="full" />
          </Text>
          <Button variant="default" onClick={() => setPicked(null)}>
            Back to the list
          </Button>
        </Group>
        <Inspector explanation={picked} currency={marketplace} />
      </Stack>
    );
  }
  const rows = recent.data?.recent.filter(
    (one) =>
      (!kind || one.auctions.some((auction) => auction.resultType === kind)) &&
      (!onlyEmpty || one.auctions.some((auction) => auction.winners === 0)),
  );
  return (
    <Stack>
      <Text c="dimmed" size="sm">
        {aboutSampling(recent.data?.every)}
      </Text>
      <Group>
        <Select
          aria-label="Kind"
          placeholder="All kinds"
          data={kinds}
          value={kind}
          onChange={setKind}
          clearable
          w={180}
        />
        <Switch
          label="Only with empty results"
          checked={onlyEmpty}
          onChange={(event) => setOnlyEmpty(event.currentTarget.checked)}
        />
      </Group>
      <DataTable
        label="Explained requests"
        rows={rows}
        rowKey={(one, i) => `${one.at}-${i}`}
        error={recent.error}
        retry={() => void recent.refetch()}
        empty={
          <Empty title="No explained request yet">
            {recent.data && recent.data.recent.length > 0
              ? "No explained request fits the filter."
              : "One appears here after the storefront sends it. To look at one now, use the playground."}
          </Empty>
        }
        columns={[
          { name: "Time", cell: (one) => <Time at={one.at} format="clock" /> },
          {
            name: "Auctions",
            cell: (one) => one.auctions.map((auction) => auction.resultType.replaceAll("_", " ")).join(", "),
          },
          { name: "Filled", align: "right", cell: (one) => filledOf(one.auctions) },
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
                aria-label={`Inspect the request of ${one.at}`}
              >
                Inspect
              </Button>
            ),
          },
        ]}
      />
    </Stack>
  );
}

function aboutSampling(every: number | undefined): string {
  if (every === undefined) return "";
  if (every === 0) return "This node explains no requests; its setting explain.sample switches that on.";
  return `On average one request in ${every.toLocaleString()} is explained as it happens, the newest 50 are kept.`;
}
