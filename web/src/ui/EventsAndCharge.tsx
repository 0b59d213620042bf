// What came of an ad that won: the impressions and clicks that were reported, and what was charged for it or why not.
import { Button, Group, Paper, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { useServedAd, type AdInteraction, type ServedAd } from "../api/servedAds";
import { Identifier } from "./Copy";
import { DataTable } from "./DataTable";
import { formatMoney, type Currency } from "./money";
import { Empty, Loaded } from "./States";
import { Time } from "./time";

interface Props {
  id: string; // The ad's resolvedBidId.
  of: string; // What the ad advertises, for those who do not see where the button is.
  currency: Currency;
}

export function EventsAndCharge({ id, of, currency }: Props) {
  const [opened, setOpened] = useState(false);
  return (
    <Stack gap="sm" align="stretch">
      <Group>
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => setOpened(!opened)}
          aria-expanded={opened}
          aria-label={`Events and charge of ${of}`}
        >
          Events and charge
        </Button>
      </Group>
      {opened && <Details id={id} currency={currency} />}
    </Stack>
  );
}

function Details({ id, currency }: { id: string; currency: Currency }) {
  const [text, setText] = useState("");
  const [user, setUser] = useState("");
  const ad = useServedAd(id, user);
  const search = (event: FormEvent) => {
    event.preventDefault();
    setUser(text.trim());
  };
  return (
    <Paper withBorder radius="sm" p="sm">
      <Loaded of={ad} lines={2}>
        {(data) => (
          <Stack gap="sm">
            <Charge ad={data} currency={currency} />
            {data.userKnown ? (
              <Interactions ad={data} />
            ) : (
              <form onSubmit={search}>
                <Group align="flex-end" gap="sm">
                  <TextInput
                    label="Customer"
                    description="The opaqueUserId that saw the ad; name it to list its impressions and clicks"
                    value={text}
                    onChange={(event) => setText(event.currentTarget.value)}
                    w={{ base: "100%", sm: 420 }}
                  />
                  <Button type="submit" variant="default">
                    Show
                  </Button>
                </Group>
              </form>
            )}
            <Group gap="xs">
              <Text size="xs" c="dimmed">
                resolvedBidId
              </Text>
              <Identifier value={id} length={16} />
            </Group>
          </Stack>
        )}
      </Loaded>
    </Paper>
  );
}

// How long after its auction an interaction is charged.
const chargedWithin = { impression: "a day", click: "7 days", purchase: "121 days" };

function Charge({ ad, currency }: { ad: ServedAd; currency: Currency }) {
  const [price, within] = [formatMoney(ad.price, currency), chargedWithin[ad.paidBy]];
  if (!ad.charge)
    return (
      <Text size="sm">
        {ad.open ? (
          <>
            Nothing is charged yet: the first {ad.paidBy} within {within} is charged with up to {price}
            {ad.paidBy === "click" && ", unless a rule finds it invalid"}.
          </>
        ) : (
          <>
            Nothing is charged any more: no {ad.paidBy} was reported within {within}, the campaign has ended, or the charge
            is so old that only reports have it.
          </>
        )}
      </Text>
    );
  const { outcome, amount, at, reversed } = ad.charge;
  return (
    <Text size="sm" component="div">
      {outcome === "charged" && `Charged ${formatMoney(amount, currency)} for the ${ad.paidBy}`}
      {outcome === "clipped" &&
        `Charged ${formatMoney(amount, currency)} of ${price} for the ${ad.paidBy}: budget or wallet had no more`}
      {outcome === "nothing_left" && `The ${ad.paidBy} was not charged: budget or wallet had nothing left`}
      {at && (
        <>
          , <Time at={at} format="full" />
        </>
      )}
      .{reversed !== "0" && ` ${formatMoney(reversed, currency)} of it was given back.`}
    </Text>
  );
}

const effects: Record<AdInteraction["effect"], string> = {
  counted: "counted",
  decided: "decided the charge",
  late: "counted; too late to be charged",
  repeated: "counted; another one had decided the charge",
};

function Interactions({ ad }: { ad: ServedAd }) {
  return (
    <Stack gap="xs">
      <DataTable<AdInteraction>
        label="Impressions and clicks"
        rows={ad.interactions}
        rowKey={(_, index) => String(index)}
        minWidth={520}
        empty={<Empty title="No impression or click is stored">None was reported, or they were dropped since.</Empty>}
        columns={[
          { name: "What", cell: (one) => one.kind },
          { name: "Occurred", cell: (one) => <Time at={one.occurredAt} format="full" /> },
          { name: "Received", cell: (one) => <Time at={one.receivedAt} format="full" /> },
          { name: "Effect", cell: (one) => effects[one.effect] },
        ]}
      />
      <Text size="xs" c="dimmed">
        Those of this customer on the same bid and placement, from auctions of the same hour, without clicks that a rule found
        invalid. {ad.more && "There are more. "}
        Purchases and what they were credited to are on the page Purchases.
      </Text>
    </Stack>
  );
}
