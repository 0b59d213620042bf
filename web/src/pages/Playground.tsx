// The playground: a request of a storefront, run without spending anything, with the outcome of every bid.
import {
  Alert,
  Button,
  Group,
  JsonInput,
  NumberInput,
  SegmentedControl,
  SimpleGrid,
  Stack,
  TextInput,
  useMatches,
} from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useWrite } from "../api/query";
import { useCurrent } from "../api/session";
import { CopyBlock } from "../ui/Copy";
import { Inspector } from "../ui/Inspector";
import { Page } from "../ui/Page";
import { Failure } from "../ui/States";
import { examples, type Operation } from "./playgroundExamples";
import { useSampleProducts } from "./sampleProducts";

const operations: { value: Operation; label: string; path: string }[] = [
  { value: "auctions", label: "Listings and banners", path: "/v2/auctions" },
  { value: "sponsored-brand", label: "Sponsored brand", path: "/v2/auctions/sponsored-brand" },
  { value: "travel", label: "Travel", path: "/v2/auctions/travel" },
];

export default function Playground() {
  const { marketplace } = useCurrent();
  const [operation, setOperation] = useState<Operation>("auctions");
  const [text, setText] = useState<string | null>(null);
  const sample = useSampleProducts();
  const shown = text ?? JSON.stringify(examples(operation, sample.products)[0]?.body, null, 2);
  const explain = useWrite((body: Record<string, unknown>) =>
    call("POST /auctions/explain", { query: { operation }, body }),
  );
  const path = operations.find((one) => one.value === operation)?.path ?? "";

  const run = () => {
    try {
      explain.mutate(JSON.parse(shown) as Record<string, unknown>);
    } catch {
      explain.reset(); // The field itself says that the text is not JSON.
    }
  };
  return (
    <Page
      title="Playground"
      about="Runs a request and shows why each bid won or lost. Nothing is counted or charged."
    >
      <Group>
        <SegmentedControl
          aria-label="Operation"
          orientation={useMatches({ base: "vertical", xs: "horizontal" })}
          data={operations}
          value={operation}
          onChange={(value) => {
            setOperation(value as Operation);
            setText(null);
            explain.reset();
          }}
        />
      </Group>
      <Group gap="xs">
        {examples(operation, sample.products).map((example) => (
          <Button
            key={example.name}
            size="xs"
            variant="default"
            onClick={() => setText(JSON.stringify(example.body, null, 2))}
          >
            {example.name}
          </Button>
        ))}
      </Group>
      {operation === "auctions" && (
        <ListingForm products={sample.products} use={(body) => setText(JSON.stringify(body, null, 2))} />
      )}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <JsonInput
          label={`Body of POST ${path}`}
          value={shown}
          onChange={setText}
          minRows={12}
          maxRows={24}
          autosize
          validationError="This is not JSON"
          spellCheck={false}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        />
        <CopyBlock
          label="The same as a command, which counts and charges"
          text={commandOf(path, shown)}
        />
      </SimpleGrid>
      <Group>
        <Button onClick={run} loading={explain.isPending}>
          Run and explain
        </Button>
      </Group>
      {explain.error && <Failure error={explain.error} />}
      {explain.data && <Inspector explanation={explain.data} currency={marketplace} />}
      {!explain.data && !explain.error && (
        <Alert color="gray" title="An empty result explains itself">
          Run a request: each bid that could have competed is listed with the first check that it failed and the bid
          that would have won.
        </Alert>
      )}
    </Page>
  );
}

const commandOf = (path: string, body: string) =>
  `curl -s ${window.location.origin}${path} -H "Authorization: Bearer $AUCTION_KEY" \\\n  -d '${compact(body)}'`;

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text)).replaceAll("'", "'\\''");
  } catch {
    return "…";
  }
}

// ListingForm fills in the most frequent request without JSON.
function ListingForm({ products, use }: { products: string[]; use: (body: unknown) => void }) {
  const [slots, setSlots] = useState(3);
  const [ids, setIds] = useState("");
  const [search, setSearch] = useState("");
  const chosen = ids.split(/[\s,]+/).filter(Boolean);
  const submit = () =>
    use({
      auctions: [
        {
          type: "listings",
          slots,
          ...(search ? { searchQuery: search } : {}),
          ...(chosen.length > 0 || !search ? { products: { ids: chosen.length > 0 ? chosen : products } } : {}),
        },
      ],
    });
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="sm">
        <NumberInput
          label="Slots"
          value={slots}
          onChange={(value) => setSlots(Number(value) || 1)}
          min={1}
          max={100}
          w={90}
        />
        <TextInput
          label="Products"
          placeholder={products.join(", ") || "p1, p2"}
          value={ids}
          onChange={(e) => setIds(e.currentTarget.value)}
          miw={220}
        />
        <TextInput
          label="Search"
          placeholder="green tea"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <Button variant="default" onClick={submit}>
          Fill in
        </Button>
      </Group>
    </Stack>
  );
}
