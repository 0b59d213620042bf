// The result of gavel simulate: its tables and plots. The file is read in the browser; nothing is sent or stored.
import { FileInput, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { DataTable } from "../ui/DataTable";
import { Figures, Sparkline } from "../ui/Figures";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { decimal, fileBytesMax, nameOf, rangeOf, readSimulation, tables, type Row, type Simulation } from "./simulation";
import { SimulationPlot } from "./SimulationPlot";

export default function Simulations() {
  const [simulation, setSimulation] = useState<Simulation | null>(null);
  const [problem, setProblem] = useState("");
  const read = async (file: File | null) => {
    setSimulation(null);
    setProblem("");
    if (!file) return;
    try {
      if (file.size > fileBytesMax) throw new Error("The file has more than 20 MB.");
      setSimulation(readSimulation(await file.text()));
    } catch (cause) {
      setProblem(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <Page
      title="Simulations"
      about={
        "What gavel simulate found: how the pacing of budgets does against other ways to spend them. " +
        "The file stays in your browser."
      }
    >
      <FileInput
        label="Result"
        description="The file that gavel simulate --json FILE wrote"
        placeholder="Choose a file"
        accept=".json,application/json"
        clearable
        clearButtonProps={{ "aria-label": "Remove the file" }}
        onChange={(file) => void read(file)}
        error={problem || undefined}
        w={{ base: "100%", sm: 420 }}
      />
      {simulation ? (
        <Result of={simulation} />
      ) : (
        <Empty title="Choose a result">
          On a machine with gavel, run <code>gavel simulate --seeds 1-10 --json result.json</code> and choose the file here.
        </Empty>
      )}
    </Page>
  );
}

function Result({ of }: { of: Simulation }) {
  const differs = of.rows.some((row) => row.difference !== undefined);
  const [shown, setShown] = useState("mean");
  return (
    <Stack gap="lg">
      <Figures
        of={[
          { label: "Campaigns", value: of.campaigns.toLocaleString(), note: `${rangeOf(of.constrained)} constrained` },
          { label: "Requests", value: rangeOf(of.requests) },
          { label: "Nodes", value: of.nodes, note: `lag ${of.lagMillis.toLocaleString()} ms` },
          { label: "Seeds", value: of.seeds.length },
        ]}
      />
      {differs && (
        <SegmentedControl
          aria-label="What the tables show"
          value={shown}
          onChange={setShown}
          style={{ alignSelf: "flex-start" }}
          data={[
            { value: "mean", label: "Means" },
            { value: "difference", label: `Differences from ${of.rows[0] ? nameOf(of.rows[0]) : ""}` },
          ]}
        />
      )}
      {tables.map(({ title, metrics }) => (
        <Stack key={title} gap="xs">
          <Title order={2} size="h4">
            {title}
          </Title>
          <DataTable<Row>
            label={title}
            rows={shown === "mean" ? of.rows : of.rows.slice(1)}
            rowKey={nameOf}
            minWidth={metrics.length * 90 + 160}
            empty={<Empty title="There is one policy only" />}
            columns={[
              { name: "Policy", cell: nameOf },
              ...metrics.map((metric) => ({
                name: metric.title,
                align: "right" as const,
                cell: (row: Row) => cellOf(row, metric.key, metric.digits, shown === "difference"),
              })),
            ]}
          />
          <Text size="xs" c="dimmed">
            {metrics.map((metric) => `${metric.title}: ${metric.about}`).join(". ")}.
            {shown === "difference" && " ± is half the width of the 95 % confidence interval."}
          </Text>
        </Stack>
      ))}
      <SimulationPlot of={of} />
      <Recoveries of={of.rows} />
      <WatchedCampaigns of={of.rows} />
    </Stack>
  );
}

function cellOf(row: Row, metric: string, digits: number, difference: boolean): string {
  const value = (difference ? row.difference : row.mean)?.[metric];
  if (!value) return "–";
  const text = decimal(value.mean, digits);
  return difference ? `${value.mean >= 0 ? "+" : ""}${text} ±${decimal(value.half, digits)}` : text;
}

const windows = [0, 2, 4, 6, 12, 24]; // Of the five minutes after an event, those that the command prints.

function Recoveries({ of }: { of: Row[] }) {
  const rows = of.filter((row) => row.recovery);
  if (rows.length === 0) return null;
  const ratio = (n: number | null | undefined) => (typeof n === "number" ? decimal(n, 2) : "–");
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        After the events
      </Title>
      <DataTable<Row>
        label="After the events"
        rows={rows}
        rowKey={nameOf}
        minWidth={960}
        empty={null}
        columns={[
          { name: "Policy", cell: nameOf },
          {
            name: "Three hours",
            cell: (row) => (
              <Sparkline
                label={`Spend of ${nameOf(row)} in each five minutes after the events, as a share of the plan`}
                values={(row.recovery?.ratios ?? []).map((one) => one ?? 0)}
              />
            ),
          },
          {
            name: "Minutes to 10 %",
            align: "right",
            cell: (row) => (typeof row.recovery?.minutes === "number" ? decimal(row.recovery.minutes, 0) : "–"),
          },
          { name: "Worst", align: "right", cell: (row) => ratio(row.recovery?.worst) },
          ...windows.map((window) => ({
            name: `${window * 5}–${window * 5 + 5} min`,
            align: "right" as const,
            cell: (row: Row) => ratio(row.recovery?.ratios[window]),
          })),
        ]}
      />
      <Text size="xs" c="dimmed">
        Spend of constrained campaigns in five minutes as a multiple of the plan of the remaining budget, all seeds
        together. Minutes to 10 %: until it stays within 10 % of the plan for a quarter of an hour.
      </Text>
    </Stack>
  );
}

function WatchedCampaigns({ of }: { of: Row[] }) {
  const all = of.flatMap((row) => (row.watched ?? []).map((campaign) => ({ policy: nameOf(row), campaign })));
  if (all.length === 0) return null;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Campaigns
      </Title>
      <DataTable
        label="Campaigns"
        rows={all}
        rowKey={(one) => `${one.campaign.id} ${one.policy}`}
        empty={null}
        columns={[
          { name: "Campaign", cell: (one) => one.campaign.id },
          { name: "Policy", cell: (one) => one.policy },
          { name: "Budget", align: "right", cell: (one) => decimal(one.campaign.budget.mean, 2) },
          { name: "Billed", align: "right", cell: (one) => decimal(one.campaign.billed.mean, 2) },
          { name: "Wins", align: "right", cell: (one) => decimal(one.campaign.wins.mean, 0) },
          { name: "Clicks", align: "right", cell: (one) => decimal(one.campaign.clicks.mean, 1) },
        ]}
      />
    </Stack>
  );
}
