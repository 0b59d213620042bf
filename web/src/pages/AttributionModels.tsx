// Other attribution models: a job divides the purchases again, and a table compares what each campaign gets.
import { Button, Group, NumberInput, Progress, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { State } from "../ui/Badges";
import { DataTable } from "../ui/DataTable";
import { ConfirmButton } from "../ui/Dialog";
import { formatCount, formatMoney, formatShare, type Currency } from "../ui/money";
import { Empty, Failure, Loaded } from "../ui/States";
import { dayOf, Time } from "../ui/time";
import { download } from "./csv";
import { csvOfModels, modelColumns, notRecomputable, type Result } from "./modelRows";

type Job = Schemas["report.ModelsJob"];

const service = "/reporting-service/attribution-models";
const readMillis = 2_000; // Between two reads of the jobs and their progress.
const daysMax = 31; // The API's.

const running = (job: Job) => job.status !== "completed" && job.status !== "failed";

export function AttributionModels() {
  const { canWrite } = useCurrent();
  const [chosen, setChosen] = useState("");
  const jobs = useRead(`GET ${service}`, {}, { every: readMillis });
  const job = jobs.data?.jobs.find((one) => one.jobId === chosen) ?? jobs.data?.jobs[0];
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        The standard model gives an item to the last click or impression. The others divide the same purchases in another
        way, as if they had been the rule; nothing that was credited or charged changes.
      </Text>
      {canWrite && <StartJob started={setChosen} busy={jobs.data?.jobs.some(running) ?? true} />}
      <Loaded of={jobs}>
        {(data) =>
          data.jobs.length === 0 || !job ? (
            <Empty title="Nothing is computed yet">Choose the days of the clicks and impressions, and compute.</Empty>
          ) : (
            <>
              <Group align="flex-end">
                <Select
                  label="Computed"
                  data={data.jobs.map((one) => ({ value: one.jobId, label: labelOf(one) }))}
                  value={job.jobId}
                  onChange={(value) => setChosen(value ?? "")}
                  allowDeselect={false}
                  w={{ base: "100%", sm: 460 }}
                />
                {canWrite && <DeleteJob job={job} />}
              </Group>
              {running(job) || job.status === "failed" ? <JobProgress job={job} /> : <JobResult id={job.jobId} />}
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}

const labelOf = (job: Job) =>
  `${job.startDate} to ${job.endDate}, other windows ${job.otherWindows.clickDays} / ${job.otherWindows.viewDays} days`;

function StartJob({ started, busy }: { started: (id: string) => void; busy: boolean }) {
  const { marketplace } = useCurrent();
  const [from, setFrom] = useState(dayOf(marketplace.timeZone, -6));
  const [to, setTo] = useState(dayOf(marketplace.timeZone));
  const [clickDays, setClickDays] = useState<number | string>(30);
  const [viewDays, setViewDays] = useState<number | string>(1);
  const start = useWrite(
    () =>
      call(`POST ${service}`, {
        body: {
          startDate: from,
          endDate: to,
          otherWindows: { clickDays: Number(clickDays), viewDays: Number(viewDays) },
        },
      }),
    service,
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start.mutate(undefined, { onSuccess: (job) => started(job.jobId) });
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="First day"
          type="date"
          required
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
        />
        <TextInput
          label="Last day"
          description={`At most ${daysMax} days`}
          type="date"
          required
          value={to}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
        <NumberInput
          label="Days after a click"
          description="The other windows"
          value={clickDays}
          onChange={setClickDays}
          min={0}
          max={88}
          required
          w={200}
        />
        <NumberInput
          label="Days after an impression"
          description="The other windows"
          value={viewDays}
          onChange={setViewDays}
          min={0}
          max={88}
          required
          w={230}
        />
        <Button type="submit" loading={start.isPending} disabled={busy}>
          Compute
        </Button>
      </Group>
      {start.error && <Failure error={start.error} />}
    </form>
  );
}

function DeleteJob({ job }: { job: Job }) {
  const remove = useWrite(() => call(`DELETE ${service}/{job_id}`, { path: { job_id: job.jobId } }), service);
  const label = running(job) ? "Cancel" : "Delete";
  return (
    <ConfirmButton
      label={label}
      title={running(job) ? "Cancel the computation" : "Delete the result"}
      question="Nothing else changes; it can be computed again as long as the clicks and impressions are kept."
      run={() => remove.mutateAsync(undefined)}
    />
  );
}

function JobProgress({ job }: { job: Job }) {
  return (
    <Stack gap="xs">
      <State of={job.status} />
      {running(job) && <Progress value={job.percent} size="lg" aria-label="How much is computed" />}
      <Text size="sm" c="dimmed">
        {running(job) ? `${job.percent} % of the purchases are read.` : (job.reason ?? "It failed.")}
      </Text>
    </Stack>
  );
}

function JobResult({ id }: { id: string }) {
  const { marketplace } = useCurrent();
  const result = useRead(`GET ${service}/{job_id}`, { path: { job_id: id } });
  return <Loaded of={result}>{(data) => <ModelTable result={data} currency={marketplace} />}</Loaded>;
}

function ModelTable({ result, currency }: { result: Result; currency: Currency }) {
  if (result.campaigns.length === 0 || !result.total) {
    return <Empty title="No sales">No purchase led back to a click or impression of these days.</Empty>;
  }
  const left = notRecomputable(result);
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" component="div">
          Purchases until <Time at={result.completeThrough} format="full" />.{" "}
          {formatCount(result.purchases?.recomputed ?? 0)} were divided again
          {left === 0 ? "." : `; ${formatCount(left)} that were credited cannot be, and are in the last column.`}
        </Text>
        <Button variant="default" size="xs" onClick={() => download("models.csv", csvOfModels(result, currency))}>
          Download CSV
        </Button>
      </Group>
      <DataTable
        label="Sales of campaigns by model"
        rows={[...result.campaigns, { campaignId: "", campaignName: "All campaigns", vendorId: "", ...result.total }]}
        rowKey={(row, index) => `${row.campaignId} ${index}`}
        empty={null}
        minWidth={1100}
        columns={[
          { name: "Campaign", cell: (row) => row.campaignName || `${formatCount(result.otherCampaigns)} further campaigns` },
          ...modelColumns.map(({ name, member }) => ({
            name,
            align: "right" as const,
            cell: (row: Result["campaigns"][number]) => (
              <Sales of={row[member]} than={member === "reported" ? undefined : row.reported} currency={currency} />
            ),
          })),
        ]}
      />
    </Stack>
  );
}

type SalesOf = Schemas["report.ModelsSales"];

// Sales shows an amount and items, and for a model how its amount differs from what was credited.
function Sales({ of, than, currency }: { of: SalesOf; than: SalesOf | undefined; currency: Currency }) {
  const items = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 }).format(Number(of.count));
  const change = than && than.amount > 0 ? of.amount / than.amount - 1 : 0;
  return (
    <>
      {formatMoney(of.amount, currency)}
      <Text size="xs" c="dimmed" component="div">
        {items} items
        {than && change !== 0 && `, ${change > 0 ? "+" : ""}${formatShare(change)}`}
      </Text>
    </>
  );
}
