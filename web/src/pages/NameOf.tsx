// The name of a vendor, campaign or product in a table that has its id only, with a link to its page.
import { Anchor, Text } from "@mantine/core";
import { Link } from "react-router";
import { useRead } from "../api/query";

const fromHere = { consistency: "local" } as const; // A name that changed a moment ago does not matter.

type Kind = "vendor" | "campaign" | "product";

// useName reads the name of one thing; only the read of its kind is made.
function useName(kind: Kind, id: string): string | undefined {
  const reads = (one: Kind) => ({ enabled: kind === one && id !== "none" });
  const vendor = useRead(
    "GET /catalog-search-service/catalogs/vendors/{id}",
    { path: { id }, query: fromHere },
    reads("vendor"),
  );
  const campaign = useRead(
    "GET /campaign-service/campaigns/{campaign_id}",
    { path: { campaign_id: id }, query: fromHere },
    reads("campaign"),
  );
  const product = useRead(
    "GET /catalog-search-service/catalogs/products/{id}",
    { path: { id }, query: fromHere },
    reads("product"),
  );
  return { vendor, campaign, product }[kind].data?.name;
}

// NameOf shows the id until the name is known, and for what was deleted. Each one shown is one read, so tables show it for as
// many rows as one page has. The id "none" stands for events without one.
export function NameOf({ kind, id }: { kind: Kind; id: string }) {
  const name = useName(kind, id) ?? (id.length > 20 ? `${id.slice(0, 13)}…` : id);
  if (kind === "product" || id === "none")
    return (
      <Text span inherit title={id}>
        {name}
      </Text>
    );
  return (
    <Anchor component={Link} size="sm" title={id} to={`/${kind}s/${encodeURIComponent(id)}`}>
      {name}
    </Anchor>
  );
}
