// Gives back what a campaign was charged: the charge of one ad, or an amount of a campaign.
import { SegmentedControl, Select, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { FormDialog } from "../ui/Dialog";
import { parseMoney } from "../ui/money";

type Body = Schemas["billing.ReversalBody"];

export const reasonNames: Record<Body["reason"], string> = {
  invalid_traffic: "invalid traffic",
  product_return: "returned products",
  billing_error: "error in billing",
  goodwill: "goodwill",
};

const campaignsMax = 100; // BOUND: campaigns to choose from, the newest; others are reversed through the API.

export function ReverseCharge({ vendor, close }: { vendor: string; close: () => void }) {
  const { marketplace } = useCurrent();
  const [of, setOf] = useState("ad");
  const [token, setToken] = useState("");
  const [campaign, setCampaign] = useState<string | null>(null);
  const [text, setText] = useState("");
  const [reason, setReason] = useState<Body["reason"]>("invalid_traffic");
  const [note, setNote] = useState("");
  const campaigns = useRead("GET /campaign-service/campaigns", { query: { vendor_id: vendor, limit: campaignsMax } });
  const reverse = useWrite(
    (body: Body) => call("POST /billing-service/reversals", { body }),
    "/billing-service",
    "/campaign-service",
    "/reporting-service",
  );
  const amount = parseMoney(text, marketplace);
  const wrongAmount = text === "" ? undefined : !amount && `An amount above 0 with at most ${marketplace.currencyExponent} decimals`;
  const submit = () => {
    if (wrongAmount || (of === "campaign" && (!amount || !campaign))) return;
    const charge = of === "ad" ? { resolvedBidId: token.trim() } : { campaignId: campaign ?? "" };
    reverse.mutate({ ...charge, reason, ...(amount ? { amount } : {}), ...(note ? { note } : {}) }, { onSuccess: close });
  };
  return (
    <FormDialog
      title="Reverse a charge"
      opened
      close={close}
      submit={submit}
      busy={reverse.isPending}
      error={reverse.error}
      submitLabel="Reverse"
      danger
    >
      <SegmentedControl
        value={of}
        onChange={setOf}
        data={[
          { value: "ad", label: "The charge of an ad" },
          { value: "campaign", label: "An amount of a campaign" },
        ]}
        aria-label="What is reversed"
      />
      {of === "ad" ? (
        <TextInput
          label="resolvedBidId"
          description="The event of the charge names it; the inspector shows it, too"
          required
          maxLength={512}
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          data-autofocus
        />
      ) : (
        <Select
          label="Campaign"
          required
          searchable
          value={campaign}
          onChange={setCampaign}
          data={(campaigns.data?.campaigns ?? []).map((one) => ({ value: one.campaignId, label: one.name }))}
        />
      )}
      <TextInput
        label={`Amount (${marketplace.currencyCode})`}
        description={of === "ad" ? "Empty: all of the charge that was not given back yet" : "The newest hours lose it first"}
        inputMode="decimal"
        required={of === "campaign"}
        value={text}
        error={wrongAmount}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Select
        label="Reason"
        allowDeselect={false}
        value={reason}
        onChange={(value) => setReason((value ?? reason) as Body["reason"])}
        data={Object.entries(reasonNames).map(([value, label]) => ({ value, label }))}
      />
      <Textarea
        label="Note"
        description="Shown in the ledger"
        maxLength={255}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <Text size="sm" c="dimmed">
        The wallet that paid has the amount again, the budget as far as its current period was charged, and the reports
        lose it. A reversal cannot be undone.
      </Text>
    </FormDialog>
  );
}
