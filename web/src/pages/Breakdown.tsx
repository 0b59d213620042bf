// The numbers of a campaign, a vendor or the marketplace by device, channel, placement, slot, keyword or ad format.
import { Button, Group, Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { file } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable, useCursor } from "../ui/DataTable";
import { Empty, Loaded } from "../ui/States";
import { Time } from "../ui/time";
import { save } from "./csv";
import { rowOf, type Row } from "./reportRows";
import { reportColumns } from "./Reports";

export type Dimension = "device" | "channel" | "placement" | "slot" | "keyword" | "format";

// dimensions are the words for a dimension and for what belongs to none of its values.
export const dimensions: Record<Dimension, { label: string; none: string }> = {
  device: { label: "Device", none: "Unknown device" },
  channel: { label: "Channel", none: "Unknown channel" },
  placement: { label: "Placement", none: "No placement" },
  slot: { label: "Slot", none: "No slot" },
  keyword: { label: "Keyword", none: "No keyword" },
  format: { label: "Ad format", none: "Unknown format" },
};

const words: Record<string, string> = {
  desktop: "Desktop",
  mobile: "Mobile",
  onsite: "Onsite",
  offsite: "Offsite",
  instore: "In store",
  other: "Other channels",
  listing: "Listing",
  banner: "Banner",
  sponsored_brand: "Sponsored brand",
};

// nameOf is the text for a value. Slots and keywords are named by people, so they stay as they are.
function nameOf(by: Dimension, value: string | null) {
  if (value === null) return dimensions[by].none;
  return by === "slot" || by === "keyword" || by === "placement" ? value : (words[value] ?? value);
}

const pageSize = 50;
const csvRowsMax = 365; // BOUND: the most rows of an answer.

interface BreakdownProps {
  by: Dimension;
  range: { start_date: string; end_date: string };
  campaign?: string; // Else of all that the user may see.
}

function useParts({ by, range, campaign }: BreakdownProps, page: string | undefined) {
  const { vendorId } = useCurrent();
  const query = { ...range, by, limit: pageSize, next_page: page };
  const ofCampaign = useRead(
    "GET /reporting-service/campaigns/{campaign_id}/breakdown",
    { path: { campaign_id: campaign ?? "" }, query },
    { enabled: campaign !== undefined, keep: true },
  );
  const ofVendor = useRead(
    "GET /reporting-service/vendors/{vendor_id}/breakdown",
    { path: { vendor_id: vendorId ?? "" }, query },
    { enabled: campaign === undefined && vendorId !== undefined, keep: true },
  );
  const all = useRead(
    "GET /reporting-service/marketplace/breakdown",
    { query },
    { enabled: campaign === undefined && vendorId === undefined, keep: true },
  );
  return (campaign !== undefined ? ofCampaign : vendorId !== undefined ? ofVendor : all) as UseQueryResult<
    Schemas["report.Parts"],
    Error
  >;
}

export function Breakdown(props: BreakdownProps) {
  const { by, range, campaign } = props;
  const { marketplace, vendorId } = useCurrent();
  const cursor = useCursor();
  const parts = useParts(props, cursor.page);
  const scope =
    campaign !== undefined
      ? `campaigns/${campaign}`
      : vendorId !== undefined
        ? `vendors/${encodeURIComponent(vendorId)}`
        : "marketplace";
  const csv = useWrite(async () => {
    const content = await file(`/reporting-service/${scope}/breakdown`, { ...range, by, limit: csvRowsMax, format: "csv" });
    save(`report-${by}.csv`, content);
  });
  return (
    <Loaded of={parts}>
      {(data) =>
        data.reports.length === 0 ? (
          <Empty title="No events in this range">Choose another range.</Empty>
        ) : (
          <Stack gap="xs">
            <Group justify="space-between">
              <Text size="sm" c="dimmed" component="div">
                Complete to <Time at={data.completeThrough} format="full" />.
              </Text>
              <Button variant="default" size="xs" loading={csv.isPending} onClick={() => csv.mutate(undefined)}>
                {data.hasMore ? `Download CSV, at most ${csvRowsMax} rows` : "Download CSV"}
              </Button>
            </Group>
            <DataTable
              label={`Report by ${dimensions[by].label.toLowerCase()}`}
              rows={data.reports.map((part) => rowOf(nameOf(by, part.value), part))}
              rowKey={(row: Row) => row.name}
              empty={null}
              minWidth={820}
              pager={cursor.pager(data.nextPage)}
              columns={reportColumns(dimensions[by].label, marketplace, (row) => row.name)}
            />
          </Stack>
        )
      }
    </Loaded>
  );
}
