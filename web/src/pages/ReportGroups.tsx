// The report by vendor, campaign or product: all pages of the interactions report, added up.
import { Alert, Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/client";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable } from "../ui/DataTable";
import { Bars } from "../ui/Figures";
import { formatMoney } from "../ui/money";
import { Empty, Loaded } from "../ui/States";
import { Time } from "../ui/time";
import { download } from "./csv";
import { Named, useNames } from "./names";
import { groupInteractions, type Row } from "./reportRows";
import { csvOf, reportColumns } from "./Reports";

export type Grouping = "vendor" | "campaign" | "product";

const pagesMax = 20; // BOUND: pages of 1,000 rows that one report reads.
const barsMax = 10;
const pageSize = 50;

interface Read {
  rows: Row[];
  completeThrough: string;
  complete: boolean;
}

async function readAll(by: Grouping, from: string, to: string, signal: AbortSignal): Promise<Read> {
  const all: Schemas["report.Interaction"][] = [];
  let next: string | undefined;
  let completeThrough = "";
  for (let page = 0; page < pagesMax; page++) {
    const answer = await call("GET /reporting-service/interactions", {
      query: {
        start_date: `${from}T00:00:00Z`,
        end_date: `${to}T23:59:59Z`,
        group_by: by,
        granularity: "daily",
        limit: 1_000,
        ...(next ? { next_page: next } : {}),
      },
      signal,
    });
    all.push(...answer.interactions);
    completeThrough = answer.completeThrough;
    next = answer.nextPage;
    if (!answer.hasMore || !next) break;
  }
  const idOf = (one: Schemas["report.Interaction"]) =>
    (by === "vendor" ? one.vendorId : by === "campaign" ? one.campaignId : one.productId) ?? "none";
  return { rows: groupInteractions(all, idOf), completeThrough, complete: !next };
}

export function ReportGroups({ by, from, to }: { by: Grouping; from: string; to: string }) {
  const report = useQuery({
    queryKey: ["GET /reporting-service/interactions", by, from, to],
    queryFn: ({ signal }) => readAll(by, from, to, signal),
  });
  return <Loaded of={report}>{(data) => <Groups by={by} data={data} />}</Loaded>;
}

const titles: Record<Grouping, string> = { vendor: "Vendor", campaign: "Campaign", product: "Product" };

function Groups({ by, data }: { by: Grouping; data: Read }) {
  const { marketplace } = useCurrent();
  const [shown, setShown] = useState(pageSize);
  const names = useNames(
    by,
    data.rows.slice(0, shown).map((row) => row.name),
  );
  if (data.rows.length === 0) return <Empty title="No events in this range">Choose another range.</Empty>;
  const top = data.rows.slice(0, barsMax).filter((row) => row.spend > 0);
  return (
    <Stack>
      {!data.complete && (
        <Alert color="orange">The range has more rows than one report reads. Choose fewer days for exact sums.</Alert>
      )}
      {top.length > 0 && (
        <Paper withBorder radius="md" p="md">
          <Title order={2} size="h5" mb="sm">
            Most spend
          </Title>
          <Bars
            of={top.map((row) => ({
              key: row.name,
              name: <Named kind={by} id={row.name} names={names} />,
              count: row.spend,
              text: formatMoney(row.spend, marketplace),
            }))}
          />
        </Paper>
      )}
      <Group justify="space-between">
        <Text size="sm" c="dimmed" component="div">
          Complete to <Time at={data.completeThrough} format="full" />. Days of UTC.
        </Text>
        <Button
          variant="default"
          size="xs"
          onClick={() => download(`report-${by}.csv`, csvOf(data.rows, by, marketplace))}
        >
          Download CSV
        </Button>
      </Group>
      <DataTable
        label={`Report by ${by}`}
        rows={data.rows.slice(0, shown)}
        rowKey={(row) => row.name}
        empty={null}
        minWidth={820}
        columns={reportColumns(titles[by], marketplace, (row) => (
          <Named kind={by} id={row.name} names={names} />
        ))}
      />
      {data.rows.length > shown && (
        <Group>
          <Button variant="default" onClick={() => setShown(shown + pageSize)}>
            Show more
          </Button>
        </Group>
      )}
    </Stack>
  );
}
