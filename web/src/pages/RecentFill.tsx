// How often slots and placements had a winner, from the auctions that the node recorded.
import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { counted, formatShare } from "../ui/money";
import { Time } from "../ui/time";

type Fill = Schemas["explain.Fill"];
type ResultType = Fill["places"][number]["resultType"];

const everyMillis = 15_000;

// useFill reads the fill of all places. cell is that of one place, by all names that auctions may use for it; about says what
// was counted.
export function useFill(resultType: ResultType): { cell: (...names: string[]) => ReactNode; about: ReactNode } {
  const fill = useRead("GET /auctions/fill", { query: { consistency: "local" } }, { every: everyMillis });
  return {
    cell: (...names) => fill.data && <Cell of={fill.data} resultType={resultType} names={names} />,
    about: (
      <Text size="sm" c="dimmed" component="div">
        {fill.data ? <About of={fill.data} /> : fill.error && `The recent fill is not known: ${fill.error.message}`}
      </Text>
    ),
  };
}

function Cell({ of, resultType, names }: { of: Fill; resultType: ResultType; names: string[] }) {
  const places = of.places.filter((place) => place.resultType === resultType && names.includes(place.name));
  const auctions = places.reduce((sum, place) => sum + place.auctions, 0);
  const filled = places.reduce((sum, place) => sum + place.filled, 0);
  if (auctions === 0) return "–";
  return (
    <>
      {formatShare(filled / auctions)}
      <Text size="xs" c="dimmed" component="div">
        of {counted(auctions, "auction")}
      </Text>
    </>
  );
}

function About({ of }: { of: Fill }) {
  if (of.every === 0)
    return "The recent fill is not known: this node records no auctions. Its setting explain.sample switches that on.";
  return (
    <>
      Recent fill is the share of auctions with a winner, of those that this node has recorded since{" "}
      <Time at={of.from} />
      {of.every > 1 && `: on average one request in ${of.every.toLocaleString()}`}.
    </>
  );
}
