import { Alert, Anchor, Button, Code, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { needsCode } from "../api/account";
import { ApiError, request } from "../api/client";
import { useWrite } from "../api/query";
import { enter, forget, type Answered, type SignedOut } from "../api/session";
import { Failure } from "../ui/States";
import { CodeInput } from "./CodeInput";
import { Entrance } from "./Entrance";
import { ProviderButton, ProviderFailure } from "./ProviderSignIn";

// SignIn asks for the address and the password, and then for the code of those who have a second factor. Both go to the
// node together, so nobody is half signed in.
export function SignIn({ needsAdmin, provider }: SignedOut) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [asked, setAsked] = useState(false);
  const client = useQueryClient();
  useEffect(() => forget(client), [client]);
  const signIn = useWrite((body: object) => request<Answered>("POST", "/session", { body }));

  const submit = () =>
    signIn.mutate(
      { email, password, code },
      {
        onSuccess: (session) => enter(client, session),
        onError: (error) => {
          setCode("");
          if (needsCode(error)) setAsked(true);
        },
      },
    );
  const back = () => {
    setAsked(false);
    setCode("");
    setPassword("");
    signIn.reset();
  };

  if (asked)
    return (
      <Entrance title="Second factor" submit={submit}>
        <CodeInput value={code} change={setCode} />
        {signIn.error && (signIn.variables as { code: string }).code !== "" && <SignInFailure error={signIn.error} />}
        <Button type="submit" loading={signIn.isPending}>
          Sign in
        </Button>
        <Anchor component="button" type="button" size="sm" onClick={back}>
          Sign in as somebody else
        </Anchor>
      </Entrance>
    );
  return (
    <Entrance title="Sign in" submit={submit}>
      {needsAdmin && <NoAdminYet />}
      {provider && <ProviderFailure provider={provider} />}
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
      {provider && <ProviderButton provider={provider} />}
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
