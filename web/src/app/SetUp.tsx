// Creates the first admin with the one-time link that the node prints at its start.
import { Button, PasswordInput, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { request } from "../api/client";
import { useWrite } from "../api/query";
import { enter, type Answered } from "../api/session";
import { Failure } from "../ui/States";
import { Entrance, tokenOfAddress } from "./Entrance";
import { passwordMin } from "./PasswordDialog";

export default function SetUp() {
  const [token] = useState(tokenOfAddress);
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const client = useQueryClient();
  const navigate = useNavigate();
  const create = useWrite(() => request<Answered>("POST", "/setup", { body: { token, email, name, password } }));
  if (!token) {
    return (
      <Entrance title="Set up this node">
        <Text size="sm">
          The link is not complete: it ends with <b>#token=…</b>. Copy the whole line that the node printed when it
          started.
        </Text>
      </Entrance>
    );
  }
  const submit = () =>
    create.mutate(undefined, {
      onSuccess: (session) => {
        enter(client, session);
        void navigate("/start", { replace: true });
      },
    });
  return (
    <Entrance title="Set up this node" submit={submit}>
      <Text size="sm" c="dimmed">
        You become its first admin. Later you can invite others.
      </Text>
      <TextInput
        label="Email"
        type="email"
        autoComplete="username"
        required
        autoFocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <TextInput
        label="Name"
        autoComplete="name"
        required
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
      {create.error && <Failure error={create.error} />}
      <Button type="submit" loading={create.isPending}>
        Create the admin
      </Button>
    </Entrance>
  );
}
