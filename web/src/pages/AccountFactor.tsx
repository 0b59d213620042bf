// Dialogs about a second factor that is on: a change that the password and a code confirm, and the recovery codes.
import { Button, Group, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { CodeInput } from "../app/CodeInput";
import { CopyBlock } from "../ui/Copy";
import { FormDialog } from "../ui/Dialog";

interface ChangeProps {
  title: string;
  label: string;
  busy: boolean;
  error: Error | null;
  close: () => void;
  submit: (body: { password: string; code: string }) => void;
  children: ReactNode;
}

export function ChangeFactor({ title, label, busy, error, close, submit, children }: ChangeProps) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  return (
    <FormDialog
      title={title}
      opened
      close={close}
      submitLabel={label}
      busy={busy}
      error={error}
      submit={() => submit({ password, code })}
    >
      <Text size="sm">{children}</Text>
      <CodeInput value={code} change={setCode} />
      <PasswordInput
        label="Password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

// RecoveryCodes shows codes that nobody can read again.
export function RecoveryCodes({ codes, close }: { codes: string[]; close: () => void }) {
  return (
    <Modal opened onClose={close} title="Your recovery codes" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text size="sm">
          Each of them signs you in once when the phone is lost. Keep them where you keep passwords: they are shown this
          once.
        </Text>
        <CopyBlock label="Recovery codes" text={codes.join("\n")} />
        <Group justify="flex-end">
          <Button onClick={close} data-autofocus>
            I have stored them
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
