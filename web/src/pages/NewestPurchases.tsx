// The newest purchases of which something was credited, for who does not know the id of one.
import { Button, Stack, Text } from "@mantine/core";
import { useNewestPurchases, type NewestPurchase } from "../api/purchases";
import { useCurrent } from "../api/session";
import { DataTable } from "../ui/DataTable";
import { formatMoney } from "../ui/money";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";
import { Named, useNames } from "./names";

export function NewestPurchases({ show }: { show: (key: string) => void }) {
  const { marketplace } = useCurrent();
  const newest = useNewestPurchases();
  const names = useNames("campaign", [...new Set(newest.data?.purchases.flatMap((one) => one.campaigns.slice(0, 1)))]);
  return (
    <Stack gap="xs">
      <DataTable<NewestPurchase>
        label="Newest purchases"
        rows={newest.data?.purchases}
        rowKey={(one) => one.key}
        error={newest.error}
        retry={() => void newest.refetch()}
        minWidth={820}
        empty={
          <Empty title="Nothing was credited in the last 7 days">
            Name a purchase above: its id is the one that your shop sent in the event, often the order number.
          </Empty>
        }
        columns={[
          { name: "Reported", cell: (one) => <Time at={one.createdAt} format="full" /> },
          { name: "Credited items", align: "right", cell: (one) => one.items },
          { name: "Sales", align: "right", cell: (one) => formatMoney(one.sales, marketplace) },
          { name: "Charged", align: "right", cell: (one) => formatMoney(one.charged, marketplace) },
          {
            name: "Credited to",
            cell: ({ campaigns: [first, ...others] }) => (
              <Text size="sm" component="div">
                {first && <Named kind="campaign" id={first} names={names} />}
                {others.length > 0 && ` and ${others.length} more`}
              </Text>
            ),
          },
          {
            name: "Actions",
            hidden: true,
            align: "right",
            cell: (one) => (
              <Button
                size="xs"
                variant="default"
                aria-label={`Show the purchase ${one.key}`}
                onClick={() => show(one.key)}
              >
                Show
              </Button>
            ),
          },
        ]}
      />
      <Text size="xs" c="dimmed">
        Purchases of the last 7 days of which an ad was credited with something. The ids of events are not stored, so a
        purchase is named here by its time.
        {newest.data?.complete === false && " A day has more credited items than are read; this is a part of them."}
      </Text>
    </Stack>
  );
}
