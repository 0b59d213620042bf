import { NumberInput, Select, SimpleGrid, TextInput } from "@mantine/core";
import { useState } from "react";
import { useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { FormDialog } from "../ui/Dialog";
import { major, parseMoney } from "../ui/money";
import { patchCampaign } from "./campaignChanges";

type Campaign = Schemas["campaign.Campaign"];

const holdoutMax = 50; // Percent, the API's.

// EditCampaign changes name, budget, pacing, price rule and holdout. Only what differs is sent.
export function EditCampaign({ campaign, close }: { campaign: Campaign; close: () => void }) {
  const { marketplace, vendorId } = useCurrent();
  const before = campaign.budget ? major(campaign.budget.amount, marketplace.currencyExponent) : "";
  const [name, setName] = useState(campaign.name);
  const [budget, setBudget] = useState(before);
  const [period, setPeriod] = useState(campaign.budget?.type ?? "daily");
  const [pacing, setPacing] = useState<string>(campaign.pacing ?? "even");
  const [rule, setRule] = useState(campaign.priceRule);
  const [holdout, setHoldout] = useState<number | string>(campaign.holdoutPercent);
  const change = useWrite(
    (body: Schemas["campaign.PatchBody"]) => patchCampaign(campaign, body, vendorId),
    "/campaign-service/campaigns",
  );
  const amount = parseMoney(budget, marketplace);
  const wrong = budget !== "" && amount === undefined;
  const percent = holdout === "" ? NaN : Number(holdout);
  const wrongHoldout = !(Number.isInteger(percent) && percent >= 0 && percent <= holdoutMax);

  const submit = () => {
    if (wrong || wrongHoldout) return;
    const changedBudget = amount !== undefined && (budget !== before || period !== campaign.budget?.type);
    change.mutate(
      {
        ...(name === campaign.name ? {} : { name }),
        ...(changedBudget ? { budget: { amount, type: period as "daily" } } : {}),
        ...(pacing === (campaign.pacing ?? "even") ? {} : { pacing: pacing as "even" }),
        ...(rule === campaign.priceRule ? {} : { priceRule: rule as "first" }),
        ...(percent === campaign.holdoutPercent ? {} : { holdoutPercent: percent }),
      },
      { onSuccess: close },
    );
  };
  return (
    <FormDialog
      title="Edit the campaign"
      opened
      close={close}
      submit={submit}
      submitLabel="Save"
      busy={change.isPending}
      error={change.error}
      size="lg"
    >
      <TextInput
        label="Name"
        required
        maxLength={255}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label={`Budget (${marketplace.currencyCode})`}
          inputMode="decimal"
          value={budget}
          error={wrong ? `An amount with at most ${marketplace.currencyExponent} decimals` : undefined}
          onChange={(event) => setBudget(event.currentTarget.value)}
        />
        <Select
          label="Budget period"
          value={period}
          onChange={(value) => setPeriod(value ?? period)}
          allowDeselect={false}
          data={vendorId ? ["daily", "weekly", "monthly"] : ["daily", "weekly", "monthly", "total"]}
        />
        {!vendorId && (
          <Select
            label="Pacing"
            value={pacing}
            onChange={(value) => setPacing(value ?? pacing)}
            allowDeselect={false}
            data={[
              { value: "even", label: "even" },
              { value: "asap", label: "as soon as possible" },
            ]}
          />
        )}
        {!vendorId && (
          <Select
            label="Price rule"
            value={rule}
            onChange={(value) => setRule(value ?? rule)}
            allowDeselect={false}
            data={[
              { value: "second", label: "second price" },
              { value: "first", label: "first price" },
            ]}
          />
        )}
      </SimpleGrid>
      {!vendorId && (
        <NumberInput
          label="Holdout"
          description="Share of users who never see the campaign, to measure what it adds. A change begins a new measurement."
          suffix=" %"
          min={0}
          max={holdoutMax}
          clampBehavior="none"
          value={holdout}
          error={wrongHoldout ? `A whole number from 0 to ${holdoutMax}` : undefined}
          onChange={setHoldout}
        />
      )}
    </FormDialog>
  );
}
