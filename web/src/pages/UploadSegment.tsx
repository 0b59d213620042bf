import { Alert, FileInput, Select, Text } from "@mantine/core";
import { useState } from "react";
import { request } from "../api/client";
import { useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { FormDialog } from "../ui/Dialog";
import { formatCount } from "../ui/money";

type Result = Schemas["segment.Result"];

const actions = [
  { value: "add", label: "Add these users" },
  { value: "remove", label: "Remove these users" },
  { value: "replace", label: "Replace all users by these" },
];

// UploadSegment sends a list of users, and then shows how many lines were taken and refused.
export function UploadSegment({ segment, close }: { segment: Schemas["segment.Segment"]; close: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [action, setAction] = useState("add");
  const send = useWrite((chosen: File) => {
    const form = new FormData();
    form.append("file", chosen);
    return request<Result>("POST", `/v1/segment-service/segments/${encodeURIComponent(segment.id)}/upload`, {
      query: { action },
      form,
    });
  }, "/segment-service");
  return (
    <FormDialog
      title={`Upload users to ${segment.name}`}
      opened
      close={close}
      busy={send.isPending}
      error={send.error}
      submitLabel={send.data ? "Upload again" : "Upload"}
      submit={() => file && send.mutate(file)}
    >
      <FileInput
        label="CSV file"
        description="One user id in each line"
        required
        accept=".csv,text/csv,text/plain"
        value={file}
        onChange={setFile}
        placeholder="Choose a file"
      />
      <Select
        label="Action"
        data={actions}
        value={action}
        onChange={(value) => setAction(value ?? "add")}
        allowDeselect={false}
      />
      {send.data && <Taken result={send.data} />}
    </FormDialog>
  );
}

function Taken({ result }: { result: Result }) {
  return (
    <Alert
      color={result.rejected > 0 ? "orange" : "green"}
      role="status"
      title={`The segment has ${formatCount(result.size)} users`}
    >
      <Text size="sm">
        {formatCount(result.received)} lines received, {formatCount(result.added)} users added,{" "}
        {formatCount(result.removed)} removed, {formatCount(result.rejected)} lines refused.
      </Text>
    </Alert>
  );
}
