// The attribution path of a purchase: which items were credited to which clicks and impressions of its user, and why.
import { Button, Group, Stack, Tabs, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { ApiError } from "../api/client";
import { usePurchase } from "../api/purchases";
import { useAddressState } from "../ui/address";
import { Page } from "../ui/Page";
import { Empty, Loaded } from "../ui/States";
import { AttributionModels } from "./AttributionModels";
import { NewestPurchases } from "./NewestPurchases";
import { PurchasePath } from "./PurchasePath";

export default function Purchases() {
  const [tab, setTab] = useAddressState("tab", "path");
  return (
    <Page
      title="Purchases"
      about="Which ads a customer saw and clicked before a purchase, and which of them were credited with it."
    >
      <Tabs value={tab} onChange={(value) => setTab(value ?? "path")} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="path">One purchase</Tabs.Tab>
          <Tabs.Tab value="models">Models</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="path" pt="md">
          <OnePurchase />
        </Tabs.Panel>
        <Tabs.Panel value="models" pt="md">
          <AttributionModels />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function OnePurchase() {
  const [id, setId] = useAddressState("id", "");
  const [key, setKey] = useAddressState("key", "");
  const [user, setUser] = useState("");
  const [text, setText] = useState(id);
  const [userText, setUserText] = useState("");
  const purchase = usePurchase(key === "" ? { id } : { key }, user);
  const chosen = id !== "" || key !== "";
  const missing = purchase.error instanceof ApiError && purchase.error.status === 404;
  const search = (event: FormEvent) => {
    event.preventDefault();
    setId(text.trim(), text.trim() === "" ? [] : ["key"]);
    setUser(userText.trim());
  };
  return (
    <Stack>
      <form onSubmit={search}>
        <Group align="flex-end" gap="sm">
          <TextInput
            label="Purchase"
            description="The id of the purchase event"
            required={key === ""}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            w={280}
          />
          <TextInput
            label="Customer"
            description="opaqueUserId; no credit names it"
            value={userText}
            onChange={(event) => setUserText(event.currentTarget.value)}
            w={280}
          />
          <Button type="submit" variant="default">
            Show
          </Button>
        </Group>
      </form>
      {chosen && (
        <Group>
          <Button
            variant="default"
            size="xs"
            onClick={() => {
              setId("", ["key"]);
              setText("");
            }}
          >
            Newest purchases
          </Button>
        </Group>
      )}
      {!chosen && <NewestPurchases show={(one) => setKey(one, ["id"])} />}
      {missing && (
        <Empty title="This purchase is not known">
          The node never received an event with this id, or it is so old that it was dropped.
        </Empty>
      )}
      {chosen && !missing && (
        <Stack>
          <Loaded of={purchase}>{(data) => <PurchasePath purchase={data} />}</Loaded>
        </Stack>
      )}
      <Text size="xs" c="dimmed">
        Clicks and impressions are kept for 90 days; a purchase of which nothing was credited is known for some days.
      </Text>
    </Stack>
  );
}
