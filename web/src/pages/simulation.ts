// The JSON file of gavel simulate, as the command writes it, and the metrics of its tables.
export interface Interval {
  mean: number;
  half: number; // Half the width of the 95 % confidence interval; 0 for fewer than two seeds.
  count: number;
}

export interface Watched {
  id: string;
  budget: Interval;
  billed: Interval;
  wins: Interval;
  clicks: Interval;
}

export interface Row {
  policy: string;
  hold: boolean;
  mean: Record<string, Interval>;
  difference?: Record<string, Interval>; // From the first row.
  recovery?: { minutes: number | null; worst: number | null; ratios: (number | null)[] };
  watched?: Watched[];
}

export interface Simulation {
  seeds: number[];
  nodes: number;
  lagMillis: number;
  campaigns: number;
  requests: number[];
  constrained: number[];
  rows: Row[];
}

export interface Metric {
  key: string;
  title: string;
  about: string;
  digits: number;
}

// The tables of the command, with the metrics of each: a test of bench/pacing compares them.
export const tables: { title: string; metrics: Metric[] }[] = [
  {
    title: "Budgets",
    metrics: [
      { key: "utilisation", title: "util", about: "billed / budget, constrained campaigns", digits: 4 },
      {
        key: "overDelivery",
        title: "over %",
        about: "clicks beyond the budgets that are not billed, % of revenue",
        digits: 3,
      },
      { key: "overspend", title: "overspend", about: "billed above a budget, in micros; 0 by construction", digits: 0 },
      { key: "early", title: "early %", about: "% of constrained campaigns that spent 95 % before 20 h", digits: 1 },
      {
        key: "life",
        title: "life h",
        about: "median hour at which a constrained campaign has spent 95 % (24: never)",
        digits: 2,
      },
      {
        key: "quickspend",
        title: "quick %",
        about: "% of constrained campaigns that spent 90 % in the first half of the day",
        digits: 1,
      },
    ],
  },
  {
    title: "Evenness",
    metrics: [
      {
        key: "ks",
        title: "KS",
        about: "largest distance of billed/budget from the share of the traffic, median of constrained campaigns",
        digits: 3,
      },
      { key: "ks10", title: "KS 10", about: "the same, budgets of 7 to 14 clicks", digits: 3 },
      {
        key: "openLoop10",
        title: "open 10",
        about: "KS of clicks that arrive at random along the plan, budgets of 7 to 14 clicks",
        digits: 3,
      },
      { key: "ksSmall", title: "KS S", about: "the same, 5 to 30 clicks", digits: 3 },
      { key: "ksMedium", title: "KS M", about: "the same, 30 to 300 clicks", digits: 3 },
      { key: "ksLarge", title: "KS L", about: "the same, more than 300 clicks", digits: 3 },
      {
        key: "error15",
        title: "err15",
        about: "deviation of a quarter of an hour's expected spend from plan, CPC budgets of 200+ clicks",
        digits: 3,
      },
      { key: "error1", title: "err1", about: "the same in a minute", digits: 3 },
      {
        key: "error15CPM",
        title: "err15 cpm",
        about: "the same in a quarter of an hour, CPM budgets of 200+ clicks",
        digits: 3,
      },
      {
        key: "volatility",
        title: "vol",
        about: "sum of the changes of the bid factor from minute to minute, mean of constrained campaigns",
        digits: 2,
      },
    ],
  },
  {
    title: "Value",
    metrics: [
      {
        key: "valuePerMoney",
        title: "value/money",
        about: "value of the wins at the bid / billed, constrained campaigns",
        digits: 3,
      },
      {
        key: "clicksPerMoney",
        title: "clicks/money",
        about: "clicks per unit of the currency, constrained CPC campaigns",
        digits: 3,
      },
      { key: "ecpc", title: "eCPC", about: "billed per click, constrained CPC campaigns", digits: 3 },
      { key: "welfare", title: "LW/LP", about: "liquid welfare / its upper bound", digits: 4 },
      { key: "revenue", title: "rev/LP", about: "billed / the upper bound of liquid welfare", digits: 4 },
    ],
  },
];

export const fileBytesMax = 20_000_000; // BOUND: bytes of a file; 10,000 seeds of all policies take less.

// readSimulation reads the text of a file. It throws an Error that says what is wrong with one that is not of
// gavel simulate.
export function readSimulation(text: string): Simulation {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("The file is not JSON. It is written by gavel simulate --json FILE.");
  }
  if (!isSimulation(value))
    throw new Error("The file is JSON, but not of gavel simulate: members of a comparison are missing.");
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isNumbers = (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === "number");

const isInterval = (value: unknown) =>
  isObject(value) && [value.mean, value.half, value.count].every((one) => typeof one === "number");

const areIntervals = (value: unknown) => isObject(value) && Object.values(value).every(isInterval);

const isWatched = (value: unknown) =>
  isObject(value) &&
  typeof value.id === "string" &&
  [value.budget, value.billed, value.wins, value.clicks].every(isInterval);

const isRecovery = (value: unknown) =>
  isObject(value) &&
  Array.isArray(value.ratios) &&
  [value.minutes, value.worst, ...(value.ratios as unknown[])].every((one) => one === null || typeof one === "number");

const isRow = (value: unknown) =>
  isObject(value) &&
  typeof value.policy === "string" &&
  typeof value.hold === "boolean" &&
  areIntervals(value.mean) &&
  (value.difference === undefined || areIntervals(value.difference)) &&
  (value.recovery === undefined || isRecovery(value.recovery)) &&
  (value.watched === undefined || (Array.isArray(value.watched) && value.watched.every(isWatched)));

const isSimulation = (value: unknown): value is Simulation =>
  isObject(value) &&
  [value.nodes, value.lagMillis, value.campaigns].every((one) => typeof one === "number") &&
  [value.seeds, value.requests, value.constrained].every(isNumbers) &&
  Array.isArray(value.rows) &&
  value.rows.length > 0 &&
  value.rows.every(isRow);

// nameOf is the name of a row. The controller of the marketplace always holds money for open clicks; of the others both
// ways are compared.
export const nameOf = (row: Row) => (row.hold && !row.policy.startsWith("gavel") ? `${row.policy} + hold` : row.policy);

// rangeOf writes the range of some counts.
export function rangeOf(counts: number[]): string {
  const [low, high] = [Math.min(...counts), Math.max(...counts)];
  return low === high ? low.toLocaleString() : `${low.toLocaleString()} to ${high.toLocaleString()}`;
}

// decimal writes a number with so many digits behind the point.
export const decimal = (n: number, digits: number) =>
  n.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });
