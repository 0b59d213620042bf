// The ledger of a wallet: every line that changed its balance beside the charges of ads, and the reversals of charges.
import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { wordOf } from "../ui/Badges";
import { DataTable, useCursor } from "../ui/DataTable";
import { Figures } from "../ui/Figures";
import { formatMoney } from "../ui/money";
import { Empty } from "../ui/States";
import { dayOf, Time } from "../ui/time";
import { Reversals } from "./Reversals";
import { ReverseCharge } from "./ReverseCharge";

export function Ledger({ vendor, wallet }: { vendor: string; wallet: Schemas["billing.Wallet"] }) {
  const { marketplace, canWrite } = useCurrent();
  const [reversing, setReversing] = useState(false);
  const cursor = useCursor();
  const path = { account_id: wallet.walletId };
  const figures = useRead("GET /billing-service/ledger/accounts/{account_id}", { path });
  const range = { start_date: dayOf(marketplace.timeZone, -364), end_date: dayOf(marketplace.timeZone) };
  const entries = useRead(
    "GET /billing-service/ledger/accounts/{account_id}/entries",
    { path, query: { ...range, limit: 20, next_page: cursor.page } },
    { keep: true },
  );
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Ledger of the wallet {wallet.name}
        </Title>
        {canWrite && (
          <Button size="xs" variant="default" onClick={() => setReversing(true)}>
            Reverse a charge
          </Button>
        )}
      </Group>
      {figures.data && (
        <Figures
          of={[
            { label: "Balance", value: formatMoney(figures.data.balance, marketplace) },
            { label: "Deposited", value: formatMoney(figures.data.deposited, marketplace) },
            { label: "Transferred", value: formatMoney(figures.data.transferred, marketplace) },
            { label: "Spent on ads", value: formatMoney(figures.data.spent, marketplace) },
          ]}
        />
      )}
      <DataTable
        label="Lines of the ledger"
        rows={entries.data?.entries}
        rowKey={(line) => String(line.line)}
        error={entries.error}
        retry={() => void entries.refetch()}
        pager={cursor.pager(entries.data?.nextPage)}
        empty={
          <Empty title="No lines in the last year">
            Deposits and transfers appear here; charges of ads are in the reports.
          </Empty>
        }
        columns={[
          { name: "Time", cell: (line) => <Time at={line.createdAt} /> },
          { name: "Kind", cell: (line) => wordOf(line.kind) },
          {
            name: "Description",
            cell: (line) => (
              <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                {line.description || "–"}
              </Text>
            ),
          },
          { name: "Other account", cell: (line) => line.account ?? "–" },
          { name: "Amount", align: "right", cell: (line) => formatMoney(line.amount, marketplace) },
        ]}
      />
      <Reversals wallet={wallet.walletId} />
      {reversing && <ReverseCharge vendor={vendor} close={() => setReversing(false)} />}
    </Stack>
  );
}
