// Audiences of advertising networks, and the jobs that send them there.
import { Button, Group, MultiSelect, Stack, Text, TextInput, Title } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import { useCurrent } from "../api/session";
import { State, wordOf } from "../ui/Badges";
import { Identifier } from "../ui/Copy";
import { DataTable, useCursor } from "../ui/DataTable";
import { FormDialog } from "../ui/Dialog";
import { formatCount } from "../ui/money";
import { Empty, Failure } from "../ui/States";
import { Time } from "../ui/time";

type Network = "google_ads" | "meta" | "tiktok_ads" | "snapchat_ads";

export function OffsiteAudiences() {
  const { canWrite, vendorId } = useCurrent();
  const cursor = useCursor();
  const [vendor, setVendor] = useState(vendorId ?? "");
  const [asked, setAsked] = useState(vendorId ?? "");
  const [adding, setAdding] = useState(false);
  const [job, setJob] = useState("");
  const audiences = useRead(
    "GET /offsite-ads/audiences",
    { query: { vendor_id: asked, limit: 25, next_page: cursor.page } },
    { keep: true, enabled: asked !== "" },
  );
  const search = (event: FormEvent) => {
    event.preventDefault();
    cursor.reset();
    setAsked(vendor.trim());
  };
  return (
    <Stack>
      {!vendorId && (
        <form onSubmit={search}>
          <Group align="flex-end" gap="sm">
            <TextInput
              label="Vendor"
              placeholder="Vendor id"
              required
              value={vendor}
              onChange={(event) => setVendor(event.currentTarget.value)}
            />
            <Button type="submit" variant="default">
              Show
            </Button>
            {canWrite && asked && <Button onClick={() => setAdding(true)}>Create audience</Button>}
          </Group>
        </form>
      )}
      {asked === "" ? (
        <Empty title="Choose a vendor">Audiences belong to vendors.</Empty>
      ) : (
        <DataTable
          label="Audiences"
          rows={audiences.data?.audiences}
          rowKey={(one) => one.id}
          error={audiences.error}
          minWidth={760}
          retry={() => void audiences.refetch()}
          pager={cursor.pager(audiences.data?.nextPage)}
          empty={
            <Empty title="This vendor has no audiences">
              An audience is a list of users that advertising networks match.
            </Empty>
          }
          columns={[
            { name: "Audience", cell: (one) => one.name },
            { name: "Networks", cell: (one) => one.dsp.map(wordOf).join(", ") },
            { name: "Received by", cell: (one) => one.syncedDsps.map(wordOf).join(", ") || "none yet" },
            { name: "Estimated users", align: "right", cell: (one) => formatCount(one.estimatedSize) },
            { name: "Changed", cell: (one) => <Time at={one.updatedAt} /> },
          ]}
        />
      )}
      <Job id={job} choose={setJob} />
      {adding && <Create vendor={asked} close={() => setAdding(false)} made={setJob} />}
    </Stack>
  );
}

// Job follows one job until it has ended.
function Job({ id, choose }: { id: string; choose: (id: string) => void }) {
  const [text, setText] = useState("");
  const job = useRead("GET /offsite-ads/jobs/{job_id}", { path: { job_id: id } }, { enabled: id !== "", every: 3_000 });
  const search = (event: FormEvent) => {
    event.preventDefault();
    choose(text.trim());
  };
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        Jobs
      </Title>
      <form onSubmit={search}>
        <Group align="flex-end" gap="sm">
          <TextInput
            label="Job id"
            required
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            w={320}
          />
          <Button type="submit" variant="default">
            Follow
          </Button>
        </Group>
      </form>
      {job.error && <Failure error={job.error} />}
      {job.data && (
        <Group gap="sm">
          <State of={job.data.status} />
          <Text>{wordOf(job.data.requestType)}</Text>
          <Text c="dimmed">{job.data.dsp.map(wordOf).join(", ")}</Text>
          <Identifier value={job.data.jobId} />
          <Time at={job.data.updatedAt} format="full" />
          {job.data.result && <Text size="sm">{job.data.result}</Text>}
        </Group>
      )}
    </Stack>
  );
}

function Create({ vendor, close, made }: { vendor: string; close: () => void; made: (job: string) => void }) {
  const [name, setName] = useState("");
  const [networks, setNetworks] = useState<string[]>(["google_ads"]);
  const create = useWrite(
    () =>
      call("POST /offsite-ads/audiences/user-list", {
        query: { vendor_id: vendor },
        body: { name, dsp: networks as Network[] },
      }),
    "/offsite-ads",
  );
  const submit = () =>
    create.mutate(undefined, {
      onSuccess: (answer) => {
        made(answer.jobId);
        close();
      },
    });
  return (
    <FormDialog
      title="Create an audience"
      opened
      close={close}
      submitLabel="Create audience"
      busy={create.isPending}
      error={create.error}
      submit={submit}
    >
      <TextInput
        label="Name"
        required
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <MultiSelect
        label="Networks"
        required
        value={networks}
        onChange={setNetworks}
        data={["google_ads", "meta", "tiktok_ads", "snapchat_ads"].map((value) => ({ value, label: wordOf(value) }))}
      />
      <Text size="sm" c="dimmed">
        The job waits for the file with the users, which a program uploads to the address of its answer.
      </Text>
    </FormDialog>
  );
}
