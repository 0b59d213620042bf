import { PasswordInput, Text } from "@mantine/core";
import { useState } from "react";
import { request } from "../api/client";
import { useWrite } from "../api/query";
import { FormDialog } from "../ui/Dialog";

export const passwordMin = 12;

export function PasswordDialog({ opened, close }: { opened: boolean; close: () => void }) {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const change = useWrite(() => request("PUT", "/password", { body: { current, new: next } }));
  const leave = () => {
    setCurrent("");
    setNext("");
    change.reset();
    close();
  };
  return (
    <FormDialog
      title="Change password"
      opened={opened}
      close={leave}
      submitLabel="Change password"
      busy={change.isPending}
      error={change.error}
      submit={() => change.mutate(undefined, { onSuccess: leave })}
    >
      <PasswordInput
        label="Current password"
        autoComplete="current-password"
        required
        value={current}
        data-autofocus
        onChange={(event) => setCurrent(event.currentTarget.value)}
      />
      <PasswordInput
        label="New password"
        description={`At least ${passwordMin} characters`}
        autoComplete="new-password"
        required
        minLength={passwordMin}
        value={next}
        onChange={(event) => setNext(event.currentTarget.value)}
      />
      <Text size="sm" c="dimmed">
        Your sessions in other browsers end.
      </Text>
    </FormDialog>
  );
}
