// The names of vendors, campaigns and products, for tables that have their ids only.
import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { call } from "../api/client";

export type Kind = "vendor" | "campaign" | "product";

export type Names = ReadonlyMap<string, string>;

const pageSize = 100;
const pagesMax = 10; // BOUND: reads of one table's names.
const consistency = "local"; // A name that changed a moment ago does not matter.

async function readNames(kind: Kind, ids: string[], signal: AbortSignal): Promise<Names> {
  const names = new Map<string, string>();
  for (let at = 0; at < Math.min(ids.length, pagesMax * pageSize); at += pageSize) {
    const query = { ids: ids.slice(at, at + pageSize), limit: pageSize, consistency } as const;
    if (kind === "campaign") {
      const { campaigns } = await call("GET /campaign-service/campaigns", { query, signal });
      for (const one of campaigns) names.set(one.campaignId, one.name);
      continue;
    }
    const { response } =
      kind === "vendor"
        ? await call("GET /catalog-search-service/catalogs/vendors", { query, signal })
        : await call("GET /catalog-search-service/catalogs/products", { query, signal });
    for (const one of response) names.set(one.id, one.name);
  }
  return names;
}

// useNames reads the names of the things that a table shows. What was deleted, or lies beyond the bounds, has none.
export function useNames(kind: Kind, ids: string[]): Names {
  const wanted = ids.filter((id) => id !== "none"); // It stands for events without one.
  const names = useQuery<Names, Error>({
    queryKey: ["names", kind, ...wanted],
    queryFn: ({ signal }) => readNames(kind, wanted, signal),
    enabled: wanted.length > 0,
    staleTime: 60_000,
    placeholderData: (before) => before, // While more rows are shown.
  });
  return names.data ?? new Map<string, string>();
}

// Named shows the name of a thing with a link to its page, or its id.
export function Named({ kind, id, names }: { kind: Kind; id: string; names: Names }) {
  const text = names.get(id) ?? (id.length > 20 ? `${id.slice(0, 13)}…` : id);
  if (kind === "product" || id === "none")
    return (
      <Text span inherit title={id}>
        {text}
      </Text>
    );
  return (
    <Anchor component={Link} size="sm" title={id} to={`/${kind}s/${encodeURIComponent(id)}`}>
      {text}
    </Anchor>
  );
}
