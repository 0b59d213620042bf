import { Alert, Button, CopyButton, Group, Stack, TextInput } from "@mantine/core";
import type { Schemas } from "../api/schema";
import { CopyBlock } from "../ui/Copy";

// KeySecret shows a new key, which the node stores only as a hash and cannot show again.
export function KeySecret({ made, done }: { made: Schemas["apikey.NewKey"]; done: () => void }) {
  return (
    <Stack>
      <Alert color="orange">This is the only time that the key is shown. The node keeps only a hash of it.</Alert>
      <Group align="flex-end" wrap="nowrap">
        <TextInput
          flex={1}
          label={made.name}
          value={made.key}
          readOnly
          data-autofocus
          ff="monospace"
          onFocus={(event) => event.currentTarget.select()}
        />
        <CopyButton value={made.key}>
          {({ copied, copy }) => <Button onClick={copy}>{copied ? "Copied" : "Copy"}</Button>}
        </CopyButton>
      </Group>
      {made.kind === "auction" ? (
        <CopyBlock label="Try it: an auction" text={auctionCall(made.key, [])} />
      ) : (
        <CopyBlock label="Try it: the campaigns" text={campaignsCall(made.key)} />
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={done}>
          I have copied the key
        </Button>
      </Group>
    </Stack>
  );
}

// quoted puts a text into single quotes for a shell.
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export const auctionBody = (products: string[], slots = 2) => ({
  auctions: [{ type: "listings", slots, products: { ids: products.length > 0 ? products : ["p1", "p2"] } }],
});

// auctionCall is the command that runs an auction at this node. The management listener answers /v2 too.
export const auctionCall = (key: string, products: string[]) =>
  `curl -s ${window.location.origin}/v2/auctions -H "Authorization: Bearer ${key}" \\\n` +
  `  -d ${quoted(JSON.stringify(auctionBody(products)))}`;

const campaignsCall = (key: string) =>
  `curl -s "${window.location.origin}/public/v1/campaign-service/campaigns?limit=5" -H "Authorization: Bearer ${key}"`;
