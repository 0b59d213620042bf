// Who may use the console: people with a role in the marketplace, and those of vendors.
import { Button, Group, Paper, Select, Stack, Tabs, Text, TextInput, Title } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { ApiError, call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import { useAddressState } from "../ui/address";
import { State, wordOf } from "../ui/Badges";
import { DataTable, useCursor } from "../ui/DataTable";
import { ConfirmButton, FormDialog } from "../ui/Dialog";
import { Page } from "../ui/Page";
import { Empty, Failure } from "../ui/States";
import { Time } from "../ui/time";
import { CopyLink, People } from "./People";

export default function Users() {
  const [tab, setTab] = useAddressState("tab", "people");
  return (
    <Page
      title="Users"
      about="Who may use the console. People of vendors see their own campaigns, wallets, reports and creatives only."
    >
      <Tabs value={tab} onChange={(value) => setTab(value ?? "people")} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="people">People</Tabs.Tab>
          <Tabs.Tab value="vendors">Invitations of vendors</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="people" pt="md">
          <People />
        </Tabs.Panel>
        <Tabs.Panel value="vendors" pt="md">
          <VendorInvitations />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function VendorInvitations() {
  const cursor = useCursor();
  const [inviting, setInviting] = useState(false);
  const invitations = useRead(
    "GET /invitation-service/invitations",
    { query: { limit: 25, next_page: cursor.page } },
    { keep: true },
  );
  const withdraw = useWrite(
    (id: string) => call("DELETE /invitation-service/invitations/{invitation_id}", { path: { invitation_id: id } }),
    "/invitation-service",
  );
  const invite = <Button onClick={() => setInviting(true)}>Invite</Button>;
  return (
    <Stack>
      {invitations.data && invitations.data.invites.length > 0 && <Group>{invite}</Group>}
      <DataTable
        label="Invitations"
        rows={invitations.data?.invites}
        rowKey={(one) => one.invitationId}
        error={invitations.error}
        minWidth={860}
        retry={() => void invitations.refetch()}
        pager={cursor.pager(invitations.data?.nextPage)}
        empty={
          <Empty title="Nobody has been invited" action={invite}>
            The invitation is a link that you can copy; a mail server is not needed.
          </Empty>
        }
        columns={[
          {
            name: "Email",
            cell: (one) => (
              <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                {one.vendorEmail}
              </Text>
            ),
          },
          { name: "Vendor", cell: (one) => one.vendorId },
          { name: "Role", cell: (one) => wordOf(one.targetUserRole) },
          { name: "State", cell: (one) => <State of={one.status} /> },
          { name: "Mail", cell: (one) => (one.mail ? <State of={one.mail.status} /> : "not sent") },
          { name: "Expires", cell: (one) => <Time at={one.expiresAt} /> },
          {
            name: "Actions",
            hidden: true,
            align: "right",
            cell: (one) =>
              one.status === "pending" && (
                <Group gap="xs" wrap="nowrap" justify="flex-end">
                  <CopyLink address={one.acceptUrl} email={one.vendorEmail} />
                  <ConfirmButton
                    label="Withdraw"
                    subject={one.vendorEmail}
                    title="Withdraw the invitation?"
                    run={() => withdraw.mutateAsync(one.invitationId)}
                    question={`The link that ${one.vendorEmail} has stops working.`}
                  />
                </Group>
              ),
          },
        ]}
      />
      <FindUser />
      {inviting && <Invite close={() => setInviting(false)} />}
    </Stack>
  );
}

function Invite({ close }: { close: () => void }) {
  const [email, setEmail] = useState("");
  const [vendor, setVendor] = useState("");
  const [role, setRole] = useState("vendor_admin");
  const send = useWrite(
    () =>
      call("POST /invitation-service/invitations", {
        body: { invites: [{ vendorEmail: email, vendorId: vendor, targetUserRole: role as "vendor_admin" }] },
      }),
    "/invitation-service",
  );
  return (
    <FormDialog
      title="Invite a person of a vendor"
      opened
      close={close}
      submitLabel="Invite"
      busy={send.isPending}
      error={send.error}
      submit={() => send.mutate(undefined, { onSuccess: close })}
    >
      <TextInput
        label="Email"
        type="email"
        required
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="Vendor"
        placeholder="Vendor id"
        required
        value={vendor}
        onChange={(event) => setVendor(event.currentTarget.value)}
      />
      <Select
        label="Role"
        value={role}
        onChange={(value) => setRole(value ?? role)}
        allowDeselect={false}
        data={[
          { value: "vendor_admin", label: "Vendor admin: may change campaigns" },
          { value: "vendor_analyst", label: "Vendor analyst: may only look" },
        ]}
      />
    </FormDialog>
  );
}

function FindUser() {
  const [text, setText] = useState("");
  const [email, setEmail] = useState("");
  const user = useRead("GET /user-service/advertiser-users", { query: { email } }, { enabled: email !== "" });
  const remove = useWrite(
    (id: string) => call("DELETE /user-service/advertiser-users/{user_id}", { path: { user_id: id } }),
    "/user-service",
  );
  const search = (event: FormEvent) => {
    event.preventDefault();
    setEmail(text.trim());
  };
  const missing = user.error instanceof ApiError && user.error.status === 404;
  return (
    <Paper withBorder radius="md" p="lg">
      <Stack>
        <Title order={2} size="h4">
          Find a user of a vendor
        </Title>
        <form onSubmit={search}>
          <Group align="flex-end" gap="sm">
            <TextInput
              label="Email"
              type="email"
              required
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              w={280}
            />
            <Button type="submit" variant="default">
              Find
            </Button>
          </Group>
        </form>
        {missing && (
          <Text c="dimmed" role="status">
            Nobody with this email exists.
          </Text>
        )}
        {user.error && !missing && <Failure error={user.error} />}
        {user.data && !missing && (
          <Group justify="space-between">
            <Stack gap={0}>
              <Text fw={600}>{`${user.data.givenName} ${user.data.familyName}`.trim() || user.data.email}</Text>
              <Text size="sm" c="dimmed" component="div">
                {user.data.email}, vendors {user.data.vendorIds.join(", ")}, since <Time at={user.data.createdAt} />
              </Text>
            </Stack>
            <ConfirmButton
              label="Remove"
              subject={user.data.email}
              title="Remove the user?"
              run={() => remove.mutateAsync(user.data.userId)}
              question={`${user.data.email} can no longer sign in.`}
            />
          </Group>
        )}
      </Stack>
    </Paper>
  );
}
