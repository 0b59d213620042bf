// One vendor: wallets with their ledger, campaigns, spend.
import {
  Anchor,
  Button,
  Group,
  Paper,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
  SegmentedControl,
} from "@mantine/core";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { State } from "../ui/Badges";
import { Identifier } from "../ui/Copy";
import { DataTable } from "../ui/DataTable";
import { FormDialog } from "../ui/Dialog";
import { Figures } from "../ui/Figures";
import { formatCount, formatMoney, parseMoney } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty, Loaded } from "../ui/States";
import { dayOf } from "../ui/time";
import { Spend, statusOf } from "./Campaigns";
import { Ledger } from "./Ledger";

type Wallet = Schemas["billing.Wallet"];

export default function VendorPage() {
  const { id = "" } = useParams();
  const { marketplace, vendorId } = useCurrent();
  const vendor = useRead("GET /catalog-search-service/catalogs/vendors/{id}", { path: { id } });
  const path = { vendor_id: id };
  const report = useRead("GET /reporting-service/vendors/{vendor_id}", {
    path,
    query: { start_date: dayOf(marketplace.timeZone, -29), end_date: dayOf(marketplace.timeZone) },
  });
  const wallets = useRead("GET /billing-service/vendors/{vendor_id}/wallets", { path }, { every: 10_000 });
  const campaigns = useRead("GET /campaign-service/campaigns", { query: { vendor_id: id, limit: 10 } });
  return (
    <Page title={vendor.data?.name ?? id} {...(vendorId ? {} : { back: { to: "/vendors", label: "Vendors" } })}>
      <Loaded of={report} lines={2}>
        {(data) => (
          <Figures
            of={[
              {
                label: "Spend, 30 days",
                value: formatMoney(data.clicks.adSpent + data.impressions.adSpent, marketplace),
              },
              { label: "Clicks", value: formatCount(data.clicks.total) },
              { label: "Purchases", value: formatCount(data.purchases.count) },
              { label: "Sales", value: formatMoney(data.purchases.amount, marketplace) },
            ]}
          />
        )}
      </Loaded>
      <Stack gap="xs">
        <Title order={2} size="h4">
          Wallets
        </Title>
        <Loaded of={wallets} lines={2}>
          {(data) => <Wallets vendor={id} wallets={data.wallets} />}
        </Loaded>
      </Stack>
      <Stack gap="xs">
        <Group justify="space-between">
          <Title order={2} size="h4">
            Campaigns
          </Title>
          <Anchor component={Link} to={vendorId ? "/campaigns" : `/campaigns?vendor=${encodeURIComponent(id)}`}>
            All campaigns
          </Anchor>
        </Group>
        <DataTable
          label="Campaigns of the vendor"
          rows={campaigns.data?.campaigns}
          rowKey={(one) => one.campaignId}
          error={campaigns.error}
          empty={<Empty title="The vendor has no campaigns" />}
          columns={[
            {
              name: "Campaign",
              cell: (one) => (
                <Anchor component={Link} to={`/campaigns/${one.campaignId}`}>
                  {one.name}
                </Anchor>
              ),
            },
            { name: "Status", cell: (one) => <State of={statusOf(one)} /> },
            { name: "Spend of the budget", cell: (one) => <Spend of={one} currency={marketplace} /> },
          ]}
        />
      </Stack>
      {!vendorId && wallets.data?.wallets.map((wallet) => <Ledger key={wallet.walletId} vendor={id} wallet={wallet} />)}
    </Page>
  );
}

function Wallets({ vendor, wallets }: { vendor: string; wallets: Wallet[] }) {
  const { marketplace, canWrite, vendorId } = useCurrent();
  const [picked, setPicked] = useState<Wallet | null>(null);
  if (wallets.length === 0) return <Empty title="The vendor has no wallet" />;
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {wallets.map((wallet) => (
          <Paper key={wallet.walletId} withBorder radius="md" p="md">
            <Text size="sm" c="dimmed">
              {wallet.isDefault && wallet.name !== "default" ? `${wallet.name} (default)` : wallet.name}
            </Text>
            <Text fz={24} fw={600} className="figures">
              {formatMoney(wallet.balance, marketplace)}
            </Text>
            <Group justify="space-between" mt="xs">
              <Identifier value={wallet.walletId} />
              {canWrite && !vendorId && (
                <Button
                  size="xs"
                  variant="default"
                  onClick={() => setPicked(wallet)}
                  aria-label={`Adjust ${wallet.name}`}
                >
                  Adjust
                </Button>
              )}
            </Group>
          </Paper>
        ))}
      </SimpleGrid>
      {picked && <Adjust vendor={vendor} wallet={picked} close={() => setPicked(null)} />}
    </>
  );
}

function Adjust({ vendor, wallet, close }: { vendor: string; wallet: Wallet; close: () => void }) {
  const { marketplace } = useCurrent();
  const [direction, setDirection] = useState("add");
  const [text, setText] = useState("");
  const [description, setDescription] = useState("");
  const amount = parseMoney(text, marketplace);
  const adjust = useWrite(
    (signed: number) =>
      call("POST /billing-service/vendors/{vendor_id}/wallets/{wallet_id}/adjust", {
        path: { vendor_id: vendor, wallet_id: wallet.walletId },
        body: { amount: signed, description },
      }),
    "/billing-service",
  );
  const submit = () => {
    if (amount) adjust.mutate(direction === "add" ? amount : -amount, { onSuccess: close });
  };
  return (
    <FormDialog
      title={`Adjust ${wallet.name}`}
      opened
      close={close}
      submit={submit}
      busy={adjust.isPending}
      error={adjust.error}
      submitLabel={direction === "add" ? "Add money" : "Take money"}
    >
      <SegmentedControl
        value={direction}
        onChange={setDirection}
        data={[
          { value: "add", label: "Add" },
          { value: "take", label: "Take" },
        ]}
        aria-label="Direction"
      />
      <TextInput
        label={`Amount (${marketplace.currencyCode})`}
        inputMode="decimal"
        required
        value={text}
        data-autofocus
        error={
          text !== "" && !amount ? `An amount above 0 with at most ${marketplace.currencyExponent} decimals` : undefined
        }
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Textarea
        label="Description"
        description="Shown in the ledger"
        required
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
