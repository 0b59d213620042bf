// The user's own account: the second factor of the sign-in.
import { Alert, Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { factorPrefix, newRecoveryCodes, turnOffFactor, useSecondFactor, type SecondFactor } from "../api/account";
import { useWrite } from "../api/query";
import { useCurrent } from "../api/session";
import { State } from "../ui/Badges";
import { Page } from "../ui/Page";
import { Loaded } from "../ui/States";
import { Time } from "../ui/time";
import { ChangeFactor, RecoveryCodes } from "./AccountFactor";
import { SetUpFactor } from "./SetUpFactor";

export default function Account() {
  const { session } = useCurrent();
  const factor = useSecondFactor();
  return (
    <Page title="Your account" about={session.user.email}>
      <Paper withBorder radius="md" p="lg" maw={720}>
        <Stack>
          <Group gap="sm">
            <Title order={2} size="h4">
              Second factor
            </Title>
            {factor.data && <State of={factor.data.on ? "on" : "off"} />}
          </Group>
          <Text size="sm" c="dimmed">
            After the password, the console asks for a code that an app on your phone shows. Whoever learns your
            password cannot sign in with it.
          </Text>
          <Loaded of={factor} lines={2}>
            {(data) => (data.on ? <FactorOn factor={data} /> : <FactorOff factor={data} />)}
          </Loaded>
        </Stack>
      </Paper>
    </Page>
  );
}

function FactorOff({ factor }: { factor: SecondFactor }) {
  const [setting, setSetting] = useState(false);
  if (!factor.hasPassword)
    return <Text size="sm">You sign in through your identity provider, which asks for a second factor itself.</Text>;
  return (
    <>
      <Group>
        <Button onClick={() => setSetting(true)}>Set up</Button>
      </Group>
      {setting && <SetUpFactor close={() => setSetting(false)} />}
    </>
  );
}

function FactorOn({ factor }: { factor: SecondFactor }) {
  const [dialog, setDialog] = useState<"off" | "codes" | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const turnOff = useWrite(turnOffFactor, factorPrefix);
  const replace = useWrite(newRecoveryCodes, factorPrefix);
  const close = () => {
    setDialog(null);
    setCodes([]);
    turnOff.reset();
    replace.reset();
  };
  return (
    <>
      <Text size="sm" component="div">
        On since <Time at={factor.since ?? ""} />. You have {factor.recoveryCodes} recovery codes left.
      </Text>
      {factor.recoveryCodes < 3 && (
        <Alert color="orange">Make new recovery codes: without them, a lost phone locks you out.</Alert>
      )}
      <Group>
        <Button variant="default" onClick={() => setDialog("codes")}>
          Make new recovery codes
        </Button>
        <Button variant="default" onClick={() => setDialog("off")}>
          Turn off
        </Button>
      </Group>
      {dialog === "off" && (
        <ChangeFactor
          title="Turn the second factor off?"
          label="Turn off"
          busy={turnOff.isPending}
          error={turnOff.error}
          close={close}
          submit={(body) => turnOff.mutate(body, { onSuccess: close })}
        >
          Then the password alone is enough to sign in.
        </ChangeFactor>
      )}
      {dialog === "codes" && codes.length === 0 && (
        <ChangeFactor
          title="Make new recovery codes?"
          label="Make new codes"
          busy={replace.isPending}
          error={replace.error}
          close={close}
          submit={(body) => replace.mutate(body, { onSuccess: (made) => setCodes(made.codes) })}
        >
          The codes that you have now stop working.
        </ChangeFactor>
      )}
      {codes.length > 0 && <RecoveryCodes codes={codes} close={close} />}
    </>
  );
}
