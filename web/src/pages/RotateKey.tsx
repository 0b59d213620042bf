// Rotates a key: makes a new one of its kind and name, while the old one works for a chosen time and then ends by itself.
import { Select, Text } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { FormDialog } from "../ui/Dialog";

const overlaps = [
  { value: "0", label: "no longer" },
  { value: "1", label: "1 hour" },
  { value: "24", label: "1 day" },
  { value: "48", label: "2 days" },
  { value: "168", label: "7 days" },
];

interface RotateProps {
  old: Schemas["apikey.Key"];
  close: () => void;
  created: (key: Schemas["apikey.NewKey"]) => void;
}

export function RotateKey({ old, close, created }: RotateProps) {
  const [hours, setHours] = useState("24");
  const rotate = useWrite(
    () =>
      call("POST /key-service/keys/{key_id}/rotate", {
        path: { key_id: old.keyId },
        body: { overlapHours: Number(hours) },
      }),
    "/key-service/keys",
  );
  return (
    <FormDialog
      title={`Rotate ${old.name}`}
      opened
      close={close}
      submit={() => rotate.mutate(undefined, { onSuccess: created })}
      submitLabel="Rotate"
      busy={rotate.isPending}
      error={rotate.error}
      danger={hours === "0"}
    >
      <Select
        label="The old key works for"
        data={overlaps}
        value={hours}
        onChange={(value) => setHours(value ?? hours)}
        allowDeselect={false}
        data-autofocus
      />
      <Text size="sm">
        {hours === "0"
          ? "Every node refuses the old key within a second; programs that use it fail until they have the new one."
          : "Give the new key to all programs until then. Afterwards the old one is refused; revoke it earlier if nothing uses it any more."}
      </Text>
    </FormDialog>
  );
}
