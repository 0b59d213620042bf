// The marketplace's experiment: what it changes, for whom, and what came of it. One runs at a time.
import { Alert, Group, Stack, Text, Title } from "@mantine/core";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable } from "../ui/DataTable";
import { ConfirmButton } from "../ui/Dialog";
import { Figures } from "../ui/Figures";
import { liftFigure } from "../ui/lift";
import { formatCount, formatMoney, type Currency } from "../ui/money";
import { Loaded } from "../ui/States";
import { Time } from "../ui/time";
import { StartExperiment, treatments } from "./StartExperiment";

type Stored = NonNullable<Schemas["settings.Settings"]["experiment"]>;
type Report = Schemas["report.ExperimentReport"];
type UserGroup = Schemas["report.ExperimentGroup"];

export function Experiment() {
  const settings = useRead("GET /marketplace-service/settings", {});
  return (
    <Stack maw={760}>
      <Text>
        An experiment changes the auctions of a share of the users and compares what they see, cost and buy with as many
        others. Who is in which group follows from a hash of the opaqueUserId.
      </Text>
      <Loaded of={settings}>{({ experiment }) => <Current experiment={experiment ?? undefined} />}</Loaded>
    </Stack>
  );
}

function Current({ experiment }: { experiment?: Stored }) {
  const { role } = useCurrent();
  const end = useWrite(
    () => call("PATCH /marketplace-service/settings", { body: { experiment: { running: false } } }),
    "/marketplace-service",
    "/reporting-service/marketplace",
  );
  const mayChange = role === "admin";
  return (
    <>
      {experiment && (
        <>
          <Group justify="space-between">
            <Title order={2} size="h4">
              {experiment.name}
            </Title>
            {mayChange && experiment.running && (
              <ConfirmButton
                label="End the experiment"
                size="sm"
                title={`End ${experiment.name}?`}
                run={() => end.mutateAsync(undefined)}
                question={<Text size="sm">All auctions go by the settings again. What was measured stays.</Text>}
              />
            )}
          </Group>
          <Text>
            {treatments[experiment.treatment].does(experiment.value ?? 0)} for {experiment.percent} % of the users, from{" "}
            <Time at={experiment.startedAt} format="full" />
            {experiment.endedAt ? (
              <>
                {" "}
                to <Time at={experiment.endedAt} format="full" />
              </>
            ) : (
              " on"
            )}
            .
          </Text>
          <Comparison />
        </>
      )}
      {!experiment && <Text c="dimmed">There has been no experiment yet.</Text>}
      {mayChange && !experiment?.running && <StartExperiment />}
    </>
  );
}

// Comparison is read once: the node reads all purchases of the users for it.
function Comparison() {
  const { marketplace } = useCurrent();
  const report = useRead("GET /reporting-service/marketplace/experiment", {});
  return <Loaded of={report}>{(data) => <Groups of={data} currency={marketplace} />}</Loaded>;
}

function Groups({ of, currency }: { of: Report; currency: Currency }) {
  const [treated, compared] = of.groups;
  if (!treated || !compared) return null;
  return (
    <Stack gap="sm">
      <Text size="sm">{of.conclusion}</Text>
      <Figures of={lifts.map(([label, lift]) => liftFigure(label, lift(of), "the others have none", fewUsers))} />
      <DataTable
        label="Users whose auctions are changed and those they are compared with"
        rows={measures(currency)}
        rowKey={([name]) => name}
        empty={null}
        minWidth={320}
        columns={[
          { name: "Of each group", cell: ([name]) => name },
          { name: "Changed", align: "right", cell: ([, measure]) => measure(treated) },
          { name: "Compared", align: "right", cell: ([, measure]) => measure(compared) },
        ]}
      />
      {of.incomplete && (
        <Alert color="orange">
          Some users or days are not stored any more, or never were. Both groups are concerned alike.
        </Alert>
      )}
      <Text size="sm" c="dimmed" component="div">
        Budgets are common to both groups: where one spends more, less is left for the other. Complete to{" "}
        <Time at={of.completeThrough} format="full" />.
      </Text>
    </Stack>
  );
}

const fewUsers = "no interval: it needs 30 such users in each group";

const lifts: [string, (of: Report) => Schemas["report.Lift"]][] = [
  ["Lift of sales", (of) => of.amountLift],
  ["Lift of buyers", (of) => of.buyersLift],
  ["Lift of spend", (of) => of.spendLift],
  ["Lift of clicks", (of) => of.clicksLift],
];

// measures are the rows of the table: what is known of a group, and how it is written.
const measures = (currency: Currency): [string, (of: UserGroup) => string][] => [
  ["Users with ads", (of) => formatCount(of.users)],
  ["Impressions", (of) => formatCount(of.impressions)],
  ["Clicks", (of) => formatCount(of.clicks)],
  ["Spend", (of) => formatMoney(of.spend, currency)],
  ["Buyers", (of) => formatCount(of.buyers)],
  ["Purchases", (of) => formatCount(of.purchases)],
  ["Sales", (of) => formatMoney(of.amount, currency)],
];
