// Accepts an invitation with the link of its mail.
import { Button, PasswordInput, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { needsCode } from "../api/account";
import { request } from "../api/client";
import { useWrite } from "../api/query";
import { enter, type Answered } from "../api/session";
import { Failure } from "../ui/States";
import { CodeInput } from "./CodeInput";
import { Entrance, tokenOfAddress } from "./Entrance";
import { passwordMin } from "./PasswordDialog";

export default function AcceptInvitation() {
  const [token] = useState(tokenOfAddress);
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [asked, setAsked] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const accept = useWrite(() =>
    request<Answered>("POST", "/invitations/accept", { body: { token, name, password, code } }),
  );
  const submit = () =>
    accept.mutate(undefined, {
      onError: (error) => setAsked(asked || needsCode(error)),
      onSuccess: (session) => {
        enter(client, session);
        void navigate("/", { replace: true });
      },
    });
  if (!token) {
    return (
      <Entrance title="Accept the invitation">
        <Text size="sm">
          The link is not complete: it ends with <b>#token=…</b>. Copy it again from the invitation.
        </Text>
      </Entrance>
    );
  }
  return (
    <Entrance title="Accept the invitation" submit={submit}>
      <Text size="sm" c="dimmed">
        Choose a name and a password for your account.
      </Text>
      <TextInput
        label="Name"
        autoComplete="name"
        required
        autoFocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <PasswordInput
        label="Password"
        description={`At least ${passwordMin} characters`}
        autoComplete="new-password"
        required
        minLength={passwordMin}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {asked && <CodeInput value={code} change={setCode} />}
      {accept.error && !(needsCode(accept.error) && code === "") && <Failure error={accept.error} />}
      <Button type="submit" loading={accept.isPending}>
        Accept and sign in
      </Button>
    </Entrance>
  );
}
