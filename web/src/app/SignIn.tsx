import { Alert, Button, Code, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, request } from "../api/client";
import { useWrite } from "../api/query";
import { enter, forget, type Answered } from "../api/session";
import { Failure } from "../ui/States";
import { Entrance } from "./Entrance";

export function SignIn({ needsAdmin }: { needsAdmin: boolean }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const client = useQueryClient();
  useEffect(() => forget(client), [client]);
  const signIn = useWrite((body: object) => request<Answered>("POST", "/session", { body }));

  const submit = () =>
    signIn.mutate(
      { email, password },
      {
        onSuccess: (session) => {
          enter(client, session);
        },
      },
    );

  return (
    <Entrance title="Sign in" submit={submit}>
      {needsAdmin && <NoAdminYet />}
      <TextInput
        label="Email"
        type="email"
        autoComplete="username"
        required
        autoFocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <PasswordInput
        label="Password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {signIn.error && <SignInFailure error={signIn.error} />}
      <Button type="submit" loading={signIn.isPending}>
        Sign in
      </Button>
    </Entrance>
  );
}

function SignInFailure({ error }: { error: Error }) {
  if (error instanceof ApiError && error.status === 429) {
    return (
      <Alert color="orange" title="Too many attempts" role="alert">
        Wait {error.waitSeconds > 0 ? `${error.waitSeconds} seconds` : "a minute"}, then try again.
      </Alert>
    );
  }
  return <Failure error={error} />;
}

function NoAdminYet() {
  return (
    <Alert color="blue" title="This node has no admin yet">
      <Stack gap={6}>
        <Text size="sm">Open the one-time link that the node printed when it started. It is in its log:</Text>
        <Code block>journalctl -u gavel{"\n"}docker logs &lt;container&gt;</Code>
        <Text size="sm">Or create the admin on the node&apos;s machine:</Text>
        <Code block>gavel admin create</Code>
      </Stack>
    </Alert>
  );
}
