// Dialogs: a form with its own failure line, and the question before something that cannot be undone.
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useState, type FormEvent, type ReactNode } from "react";
import { Failure } from "./States";

interface FormDialogProps {
  title: string;
  opened: boolean;
  close: () => void;
  submit: () => void;
  submitLabel: string;
  busy: boolean;
  error: Error | null;
  children: ReactNode;
  size?: string;
  danger?: boolean;
}

export function FormDialog(p: FormDialogProps) {
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    p.submit();
  };
  return (
    <Modal
      opened={p.opened}
      onClose={p.close}
      title={p.title}
      size={p.size ?? "md"}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={onSubmit}>
        <Stack gap="md">
          {p.children}
          {p.error && <Failure error={p.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={p.close}>
              Cancel
            </Button>
            <Button type="submit" color={p.danger ? "red.8" : undefined} loading={p.busy}>
              {p.submitLabel}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface ConfirmProps {
  label: string;
  title: string;
  question: ReactNode;
  run: () => Promise<unknown>;
  subject?: string; // What the button is about, for those who do not see the row it stands in.
  danger?: boolean;
  size?: string;
}

// ConfirmButton asks before it runs, and shows in its dialog why the run failed.
export function ConfirmButton({ label, title, question, run, subject, danger = true, size = "xs" }: ConfirmProps) {
  const [opened, setOpened] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const close = () => {
    setOpened(false);
    setError(null);
  };
  const submit = () => {
    setBusy(true);
    setError(null);
    run()
      .then(close, (cause: Error) => setError(cause))
      .finally(() => setBusy(false));
  };
  return (
    <>
      <Button
        size={size}
        variant="default"
        onClick={() => setOpened(true)}
        aria-label={subject ? `${label} ${subject}` : undefined}
      >
        {label}
      </Button>
      <FormDialog
        title={title}
        opened={opened}
        close={close}
        submit={submit}
        submitLabel={label}
        busy={busy}
        error={error}
        danger={danger}
      >
        <Text size="sm" component="div">
          {question}
        </Text>
      </FormDialog>
    </>
  );
}
