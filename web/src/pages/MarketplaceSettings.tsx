// The settings of the marketplace as a form. Only what differs is sent.
import {
  Alert,
  Button,
  Fieldset,
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useState, type FormEvent } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { major, parseMoney } from "../ui/money";
import { Failure, Loaded } from "../ui/States";
import { Time } from "../ui/time";

type Stored = Schemas["settings.Settings"];
type Patch = Schemas["settings.PatchBody"];

export function MarketplaceSettings() {
  const settings = useRead("GET /marketplace-service/settings", {});
  return <Loaded of={settings}>{(stored) => <Form key={stored.updatedAt} stored={stored} />}</Loaded>;
}

const charges = ["CPC", "CPM", "CPA"] as const;
const chargeNames = { CPC: "per click", CPM: "per 1,000 impressions", CPA: "per purchase" };

function Form({ stored }: { stored: Stored }) {
  const { role } = useCurrent();
  const mayChange = role === "admin";
  const reserveOf = (charge: (typeof charges)[number]) => major(stored.reservePrice[charge], stored.currencyExponent);
  const [next, setNext] = useState<Patch>({});
  const [reserve, setReserve] = useState({ CPC: reserveOf("CPC"), CPM: reserveOf("CPM"), CPA: reserveOf("CPA") });
  const save = useWrite((body: Patch) => call("PATCH /marketplace-service/settings", { body }), "/marketplace-service");
  const value = <K extends keyof Patch & keyof Stored>(name: K) => (next[name] ?? stored[name]) as Stored[K];
  const wrong = charges.filter((charge) => parseMoney(reserve[charge], stored) === undefined);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wrong.length > 0) return;
    const prices = Object.fromEntries(
      charges
        .map((charge) => [charge, parseMoney(reserve[charge], stored)])
        .filter(([charge, price]) => price !== stored.reservePrice[charge as "CPC"]),
    );
    save.mutate({ ...next, ...(Object.keys(prices).length > 0 ? { reservePrice: prices } : {}) });
  };
  return (
    <form onSubmit={submit}>
      <Fieldset variant="unstyled" disabled={!mayChange}>
        <Stack maw={760}>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput label="Currency" value={stored.currencyCode} readOnly description="All amounts are in it" />
            <TextInput
              label="Time zone"
              value={value("timeZone")}
              onChange={(e) => setNext({ ...next, timeZone: e.currentTarget.value })}
              description="Days of reports and budgets"
            />
            <Select
              label="Billing"
              value={value("billingMode")}
              allowDeselect={false}
              onChange={(mode) => setNext({ ...next, billingMode: mode as "pre" })}
              data={[
                { value: "pre", label: "vendors pay in advance, from wallets" },
                { value: "post", label: "vendors pay later" },
              ]}
            />
            <Select
              label="Places"
              value={value("geoMode")}
              allowDeselect={false}
              onChange={(mode) => setNext({ ...next, geoMode: mode as "h3" })}
              data={[
                { value: "label", label: "named by labels" },
                { value: "h3", label: "H3 cells" },
              ]}
            />
            <Select
              label="Attribution"
              description="Which ads are credited with purchases from now on"
              value={value("attribution")}
              allowDeselect={false}
              onChange={(rules) => setNext({ ...next, attribution: rules as "standard" })}
              data={[
                { value: "standard", label: "standard: 7 to 30 days by format, halo" },
                { value: "reference", label: "reference: the same, mostly after clicks" },
                { value: "long-click", label: "long-click: 14 days after a click" },
                { value: "amazon", label: "amazon: the last touch of 14 days, halo" },
              ]}
            />
            <NumberInput
              label="Winners per vendor in an auction"
              description="0 for no limit"
              min={0}
              max={40}
              value={value("maxWinnersPerVendor")}
              onChange={(n) => setNext({ ...next, maxWinnersPerVendor: Number(n) })}
            />
            <NumberInput
              label="Days that clicks and impressions are kept"
              description="16 to 90, for attribution; what is older is deleted within minutes"
              min={16}
              max={90}
              allowDecimal={false}
              value={value("touchRetentionDays")}
              onChange={(n) => setNext({ ...next, touchRetentionDays: Number(n) })}
            />
            <NumberInput
              label="Days that events are kept for exports"
              description="0: not at all; else 2 to 30, without their users"
              min={0}
              max={30}
              allowDecimal={false}
              value={value("eventRetentionDays")}
              onChange={(n) => setNext({ ...next, eventRetentionDays: Number(n) })}
            />
            <NumberInput
              label="Weight of the learned quality"
              description="0 for none, 1 for all of it"
              min={0}
              max={1}
              step={0.1}
              value={value("learnedQuality")}
              onChange={(n) => setNext({ ...next, learnedQuality: Number(n) })}
            />
          </SimpleGrid>
          <Text fw={600} mt="xs">
            Reserve prices in {stored.currencyCode}
          </Text>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            {charges.map((charge) => (
              <TextInput
                key={charge}
                label={`${charge}, ${chargeNames[charge]}`}
                inputMode="decimal"
                value={reserve[charge]}
                error={wrong.includes(charge) ? `At most ${stored.currencyExponent} decimals` : undefined}
                onChange={(event) => setReserve({ ...reserve, [charge]: event.currentTarget.value })}
              />
            ))}
          </SimpleGrid>
          <Switch
            label="Approve new campaigns by themselves"
            checked={value("autoApproveCampaigns")}
            onChange={(event) => setNext({ ...next, autoApproveCampaigns: event.currentTarget.checked })}
          />
          <Switch
            label="Approve new assets by themselves"
            checked={value("autoApproveAssets")}
            onChange={(event) => setNext({ ...next, autoApproveAssets: event.currentTarget.checked })}
          />
          <Switch
            label="Carry what is left of a daily budget over to the next days"
            checked={value("budgetCarryover")}
            onChange={(event) => setNext({ ...next, budgetCarryover: event.currentTarget.checked })}
          />
          {save.error && <Failure error={save.error} />}
          {save.isSuccess && (
            <Alert color="green" role="status">
              Saved. Auctions of every node follow within a second.
            </Alert>
          )}
          {mayChange && (
            <Group>
              <Button type="submit" loading={save.isPending}>
                Save
              </Button>
            </Group>
          )}
          <Text size="sm" c="dimmed" component="div">
            Last changed <Time at={stored.updatedAt} />.
          </Text>
        </Stack>
      </Fieldset>
    </form>
  );
}
