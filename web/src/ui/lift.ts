// How much more one group of users does than another, in words.
import type { Schemas } from "../api/schema";
import type { Figure } from "./Figures";

// liftFigure shows a lift with its interval. nothing says why there is none.
export function liftFigure(label: string, { percent, from, to }: Schemas["report.Lift"], nothing: string, few: string): Figure {
  if (percent === null) return { label, value: "–", note: nothing };
  return {
    label,
    value: formatLift(percent),
    note: from === null || to === null ? few : `95 % confidence: ${formatLift(from)} to ${formatLift(to)}`,
  };
}

const formatLift = (percent: number) =>
  new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 2, signDisplay: "exceptZero" }).format(
    percent / 100,
  );
