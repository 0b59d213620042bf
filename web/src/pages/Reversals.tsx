// The reversals that gave a wallet its money again.
import { Anchor, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import { useRead } from "../api/query";
import { useCurrent } from "../api/session";
import { DataTable, useCursor } from "../ui/DataTable";
import { formatMoney } from "../ui/money";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";
import { reasonNames } from "./ReverseCharge";

export function Reversals({ wallet }: { wallet: string }) {
  const { marketplace } = useCurrent();
  const cursor = useCursor();
  const reversals = useRead(
    "GET /billing-service/reversals",
    { query: { account: wallet, limit: 10, next_page: cursor.page } },
    { keep: true },
  );
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        Reversals
      </Title>
      <DataTable
        label="Reversals of the wallet"
        rows={reversals.data?.reversals}
        rowKey={(one) => one.reversalId}
        error={reversals.error}
        retry={() => void reversals.refetch()}
        pager={cursor.pager(reversals.data?.nextPage)}
        minWidth={820}
        empty={<Empty title="Nothing was given back">Charges that are reversed appear here.</Empty>}
        columns={[
          { name: "Time", cell: (one) => <Time at={one.createdAt} /> },
          {
            name: "Campaign",
            cell: (one) => (
              <Anchor component={Link} size="sm" to={`/campaigns/${one.campaignId}`}>
                campaign
              </Anchor>
            ),
          },
          { name: "Reason", cell: (one) => reasonNames[one.reason] },
          {
            name: "Note",
            cell: (one) => (
              <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                {one.note || "–"}
              </Text>
            ),
          },
          { name: "By", cell: (one) => authorOf(one.author) },
          { name: "Amount", align: "right", cell: (one) => formatMoney(one.amountDecimal, marketplace) },
          {
            name: "Of it for the budget",
            align: "right",
            cell: (one) => formatMoney(one.budgetAmount, marketplace),
          },
        ]}
      />
    </Stack>
  );
}

// authorOf says who asked for a reversal, which the node writes as user: or key: and an id.
const authorOf = (author: string) => (author.startsWith("user:") ? "a user" : "an API key");
