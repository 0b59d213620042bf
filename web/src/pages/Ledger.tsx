// The ledger of an account: every line that changed its balance beside the charges of ads.
import { Group, Stack, Text, Title } from "@mantine/core";
import { ApiError } from "../api/client";
import { useRead } from "../api/query";
import { useCurrent } from "../api/session";
import { wordOf } from "../ui/Badges";
import { DataTable, useCursor } from "../ui/DataTable";
import { Figures } from "../ui/Figures";
import { formatMoney } from "../ui/money";
import { Empty } from "../ui/States";
import { dayOf, Time } from "../ui/time";

export function Ledger({ account }: { account: string }) {
  const { marketplace } = useCurrent();
  const cursor = useCursor();
  const path = { account_id: account };
  const figures = useRead("GET /billing-service/ledger/accounts/{account_id}", { path });
  const range = { start_date: dayOf(marketplace.timeZone, -364), end_date: dayOf(marketplace.timeZone) };
  const entries = useRead(
    "GET /billing-service/ledger/accounts/{account_id}/entries", { path, query: { ...range, limit: 20, next_page: cursor.page } },
    { keep: true },
  );
  if (figures.error instanceof ApiError && (figures.error.status === 404 || figures.error.status === 403)) return null;
  return (
    <Stack gap="xs">
      <Group><Title order={2} size="h4">Ledger</Title></Group>
      {figures.data && (
        <Figures of={[
          { label: "Balance", value: formatMoney(figures.data.balance, marketplace) },
          { label: "Deposited", value: formatMoney(figures.data.deposited, marketplace) },
          { label: "Transferred", value: formatMoney(figures.data.transferred, marketplace) },
          { label: "Spent on ads", value: formatMoney(figures.data.spent, marketplace) },
        ]} />
      )}
      <DataTable
        label="Lines of the ledger" rows={entries.data?.entries} rowKey={(line) => String(line.line)} error={entries.error}
        retry={() => void entries.refetch()} pager={cursor.pager(entries.data?.nextPage)}
        empty={<Empty title="No lines in the last year">Deposits and transfers appear here; charges of ads are in the reports.</Empty>}
        columns={[
          { name: "Time", cell: (line) => <Time at={line.createdAt} /> },
          { name: "Kind", cell: (line) => wordOf(line.kind) },
          { name: "Description", cell: (line) => <Text size="sm" style={{ overflowWrap: "anywhere" }}>{line.description || "–"}</Text> },
          { name: "Other account", cell: (line) => line.account ?? "–" },
          { name: "Amount", align: "right", cell: (line) => formatMoney(line.amount, marketplace) },
        ]}
      />
    </Stack>
  );
}
