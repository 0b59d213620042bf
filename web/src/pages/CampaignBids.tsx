// The bids of a campaign, with their amount changed in place and their switch.
import { ActionIcon, Group, Switch, Text, TextInput, Tooltip } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { State } from "../ui/Badges";
import { DataTable, Pager } from "../ui/DataTable";
import { ConfirmButton } from "../ui/Dialog";
import { CheckIcon } from "../ui/icons";
import { formatMoney, major, parseMoney } from "../ui/money";
import { Empty } from "../ui/States";
import { Named, useNames } from "./names";

type Campaign = Schemas["campaign.Campaign"];
type Bid = Schemas["campaign.Bid"];

const pageSize = 20;
const paths = "/campaign-service/campaigns";

// useMayBid reports whether the user may change bids. Users of vendors change budgets and dates only, as in the
// vendors' dialog.
function useMayBid(): boolean {
  const { canWrite, vendorId } = useCurrent();
  return canWrite && vendorId === undefined;
}

export function CampaignBids({ campaign }: { campaign: Campaign }) {
  const [page, setPage] = useState(0);
  const canWrite = useMayBid();
  const bids = useRead(
    "GET /campaign-service/campaigns/{campaign_id}/bids",
    {
      path: { campaign_id: campaign.campaignId },
      query: { limit: pageSize, offset: page * pageSize },
    },
    { keep: true },
  );
  const targets = bids.data?.bids.map((bid) => bid.target) ?? [];
  const names = useNames(
    "product",
    targets.filter(({ type }) => type === "product").map(({ id }) => id),
  );
  return (
    <DataTable
      label="Bids"
      rows={bids.data?.bids}
      rowKey={(bid) => bid.bidId}
      error={bids.error}
      retry={() => void bids.refetch()}
      minWidth={820}
      empty={
        <Empty title="The campaign has no bids">
          Without a bid it competes in no auction. Bids are added through the API.
        </Empty>
      }
      pager={
        (page > 0 || bids.data?.hasMore) && (
          <Pager
            label={`Page ${page + 1}`}
            previous={page > 0 ? () => setPage(page - 1) : undefined}
            next={bids.data?.hasMore ? () => setPage(page + 1) : undefined}
          />
        )
      }
      columns={[
        {
          name: "Target",
          cell: (bid) => (
            <Text size="sm" style={{ overflowWrap: "anywhere" }}>
              {bid.target.type}{" "}
              {bid.target.type === "product" ? <Named kind="product" id={bid.target.id} names={names} /> : bid.target.id}
            </Text>
          ),
        },
        { name: "Triggers", cell: (bid) => <Triggers of={bid.triggers} /> },
        { name: "State", cell: (bid) => <State of={bid.state} /> },
        { name: "Amount", cell: (bid) => <Amount campaign={campaign} bid={bid} /> },
        { name: "Active", cell: (bid) => <BidSwitch campaign={campaign} bid={bid} /> },
        {
          name: "Actions",
          hidden: true,
          align: "right",
          cell: (bid) => canWrite && <Delete campaign={campaign} bid={bid} />,
        },
      ]}
    />
  );
}

function Triggers({ of }: { of: Schemas["campaign.Trigger"][] }) {
  if (of.length === 0)
    return (
      <Text span size="sm" c="dimmed">
        any context
      </Text>
    );
  const text = of.map(
    ({ type, value }) => `${type} ${value.words?.join(" ") ?? value.categoryId ?? value.productId ?? ""}`,
  );
  return (
    <Tooltip label={text.join("; ")} disabled={text.length < 2} multiline maw={420}>
      <Text span size="sm">
        {text[0]}
        {text.length > 1 ? ` and ${text.length - 1} more` : ""}
      </Text>
    </Tooltip>
  );
}

const pathOf = (campaign: Campaign, bid: Bid) => ({
  path: { campaign_id: campaign.campaignId, bid_id: bid.bidId },
  query: { vendor_id: campaign.vendorId },
});

function Amount({ campaign, bid }: { campaign: Campaign; bid: Bid }) {
  const { marketplace } = useCurrent();
  const canWrite = useMayBid();
  const stored = major(bid.amount, marketplace.currencyExponent);
  const [text, setText] = useState(stored);
  const change = useWrite(
    (amount: number) =>
      call("PATCH /campaign-service/campaigns/{campaign_id}/bids/{bid_id}", {
        ...pathOf(campaign, bid),
        body: { amount },
      }),
    paths,
  );
  if (!canWrite) return <span className="figures">{formatMoney(bid.amount, marketplace)}</span>;
  const amount = parseMoney(text, marketplace);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (amount !== undefined) change.mutate(amount);
  };
  return (
    <form onSubmit={submit}>
      <Group gap={4} wrap="nowrap" align="flex-start">
        <TextInput
          size="xs"
          w={90}
          inputMode="decimal"
          value={text}
          aria-label={`Amount of the bid on ${bid.target.id}`}
          error={amount === undefined ? "not an amount" : change.error?.message}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {text !== stored && amount !== undefined && (
          <ActionIcon
            type="submit"
            size={30}
            aria-label={`Save the bid on ${bid.target.id}`}
            loading={change.isPending}
          >
            <CheckIcon />
          </ActionIcon>
        )}
      </Group>
    </form>
  );
}

function BidSwitch({ campaign, bid }: { campaign: Campaign; bid: Bid }) {
  const canWrite = useMayBid();
  const change = useWrite(
    (isActive: boolean) =>
      call("PATCH /campaign-service/campaigns/{campaign_id}/bids/{bid_id}", {
        ...pathOf(campaign, bid),
        body: { isActive },
      }),
    paths,
  );
  return (
    <>
      <Switch
        checked={change.isPending ? change.variables : bid.isActive}
        disabled={!canWrite}
        aria-label={`The bid on ${bid.target.id} is active`}
        onChange={(event) => change.mutate(event.currentTarget.checked)}
      />
      {change.error && (
        <Text size="xs" c="red" role="alert">
          {change.error.message}
        </Text>
      )}
    </>
  );
}

function Delete({ campaign, bid }: { campaign: Campaign; bid: Bid }) {
  const remove = useWrite(
    () => call("DELETE /campaign-service/campaigns/{campaign_id}/bids/{bid_id}", pathOf(campaign, bid)),
    paths,
  );
  return (
    <ConfirmButton
      label="Delete"
      subject={`the bid on ${bid.target.id}`}
      title="Delete the bid?"
      question={`The bid on ${bid.target.id} leaves all auctions.`}
      run={() => remove.mutateAsync(undefined)}
    />
  );
}
