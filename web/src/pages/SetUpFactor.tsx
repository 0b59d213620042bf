// Sets a second factor up: the password, the secret as a picture and as text, a first code, the recovery codes.
import { Center, Code, PasswordInput, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { beginFactor, confirmFactor, factorPrefix, type NewSecret } from "../api/account";
import { useWrite } from "../api/query";
import { CodeInput } from "../app/CodeInput";
import { FormDialog } from "../ui/Dialog";
import { RecoveryCodes } from "./AccountFactor";

export function SetUpFactor({ close }: { close: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const begin = useWrite(beginFactor);
  const confirm = useWrite(confirmFactor); // The page behind is read again when the codes have been seen.
  const done = useWrite(() => Promise.resolve(undefined), factorPrefix);
  const finish = () => done.mutate(undefined, { onSuccess: close });

  if (confirm.data) return <RecoveryCodes codes={confirm.data.codes} close={finish} />;
  if (begin.data)
    return (
      <FormDialog
        title="Add the console to your app"
        opened
        close={close}
        submitLabel="Turn on"
        busy={confirm.isPending}
        error={confirm.error}
        submit={() => confirm.mutate(code)}
      >
        <Secret of={begin.data} />
        <CodeInput value={code} change={setCode} recovery={false} />
        <Text size="sm" c="dimmed">
          Your sessions in other browsers end.
        </Text>
      </FormDialog>
    );
  return (
    <FormDialog
      title="Set up a second factor"
      opened
      close={close}
      submitLabel="Continue"
      busy={begin.isPending}
      error={begin.error}
      submit={() => begin.mutate(password)}
    >
      <PasswordInput
        label="Current password"
        autoComplete="current-password"
        required
        data-autofocus
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

// Secret shows the secret. As an image, the picture of the node runs nothing.
function Secret({ of }: { of: NewSecret }) {
  return (
    <Stack gap="xs">
      <Text size="sm">Scan this picture with an authenticator app:</Text>
      <Center>
        <img
          src={`data:image/svg+xml;utf8,${encodeURIComponent(of.qrCode)}`}
          alt="QR code of the secret"
          width={220}
          height={220}
        />
      </Center>
      <Text size="sm">Or type the secret into it:</Text>
      <Code block style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }} data-secret={of.secret}>
        {of.secret.replace(/(.{4})/g, "$1 ").trim()}
      </Code>
    </Stack>
  );
}
