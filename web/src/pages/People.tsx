// Who may use the console in this marketplace: roles, login sessions and open invitations.
import { Button, CopyButton, Group, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import {
  changeRole,
  invitePerson,
  peoplePrefix,
  removePerson,
  resetFactor,
  usePeople,
  withdrawInvitation,
  type Person,
  type StaffInvitation,
} from "../api/people";
import { useWrite } from "../api/query";
import { ofVendor, roleNames, useCurrent } from "../api/session";
import { DataTable } from "../ui/DataTable";
import { ConfirmButton, FormDialog } from "../ui/Dialog";
import { Empty, Failure } from "../ui/States";
import { Time } from "../ui/time";

const staffRoles = (["admin", "operator", "analyst"] as const).map((role) => ({
  value: role as string,
  label: roleNames[role],
}));

export function People() {
  const people = usePeople();
  const { session } = useCurrent();
  const [inviting, setInviting] = useState(false);
  const remove = useWrite(removePerson, peoplePrefix);
  const reset = useWrite(resetFactor, peoplePrefix);
  const invite = <Button onClick={() => setInviting(true)}>Invite a colleague</Button>;
  return (
    <Stack>
      <Group>{invite}</Group>
      <DataTable<Person>
        label="People"
        rows={people.data?.users}
        rowKey={(one) => `${one.id} ${one.vendorId ?? ""}`}
        error={people.error}
        minWidth={960}
        retry={() => void people.refetch()}
        empty={<Empty title="Nobody has access yet" action={invite} />}
        columns={[
          { name: "Name", cell: (one) => one.name },
          {
            name: "Email",
            cell: (one) => (
              <Text size="sm" miw={150} style={{ overflowWrap: "anywhere" }}>
                {one.email}
              </Text>
            ),
          },
          { name: "Role", cell: (one) => <RoleOf person={one} /> },
          { name: "Signed in", cell: (one) => <Sessions of={one} /> },
          { name: "Since", cell: (one) => <Time at={one.createdAt} /> },
          {
            name: "Actions",
            hidden: true,
            align: "right",
            cell: (one) =>
              one.id !== session.user.id && (
                <Stack gap={6} align="flex-end">
                  {one.secondFactor && (
                    <ConfirmButton
                      label="Reset second factor"
                      subject={`of ${one.email}`}
                      title={`Reset the second factor of ${one.name || one.email}?`}
                      run={() => reset.mutateAsync(one.id)}
                      question="The password alone is then enough to sign in, until the person sets a second factor up again."
                    />
                  )}
                  <ConfirmButton
                    label="Remove"
                    subject={one.email}
                    title={`Remove ${one.name || one.email}?`}
                    run={() => remove.mutateAsync(one.id)}
                    question="The person is signed out within a second and cannot enter this marketplace again."
                  />
                </Stack>
              ),
          },
        ]}
      />
      {people.data && people.data.invitations.length > 0 && <Invited of={people.data.invitations} />}
      {inviting && <Invite close={() => setInviting(false)} />}
    </Stack>
  );
}

function RoleOf({ person }: { person: Person }) {
  const { session } = useCurrent();
  const change = useWrite((role: string) => changeRole(person.id, role), peoplePrefix);
  if (ofVendor(person.role))
    return (
      <Text size="sm">
        {roleNames[person.role]} of {person.vendorId}
      </Text>
    );
  if (person.id === session.user.id) return <Text size="sm">{roleNames[person.role]}</Text>;
  return (
    <>
      <Select
        size="xs"
        w={120}
        data={staffRoles}
        value={person.role}
        allowDeselect={false}
        aria-label={`Role of ${person.email}`}
        onChange={(role) => role && role !== person.role && change.mutate(role)}
      />
      {change.error && <Failure error={change.error} />}
    </>
  );
}

function Sessions({ of }: { of: Person }) {
  if (of.sessions.length === 0)
    return (
      <Text size="sm" c="dimmed">
        not now
      </Text>
    );
  const newest = of.sessions.reduce((a, b) => (a.seenAt > b.seenAt ? a : b));
  return (
    <Text size="sm" component="div" title={newest.userAgent}>
      {of.sessions.length === 1 ? "once" : `${of.sessions.length} times`}, seen <Time at={newest.seenAt} /> from{" "}
      {newest.address}
    </Text>
  );
}

function Invited({ of }: { of: StaffInvitation[] }) {
  const withdraw = useWrite(withdrawInvitation, peoplePrefix);
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Open invitations
      </Title>
      <DataTable<StaffInvitation>
        label="Open invitations"
        rows={of}
        rowKey={(one) => one.id}
        empty={null}
        columns={[
          { name: "Email", cell: (one) => one.email },
          { name: "Role", cell: (one) => roleNames[one.role] },
          { name: "Expires", cell: (one) => <Time at={one.expiresAt} /> },
          {
            name: "Actions",
            hidden: true,
            align: "right",
            cell: (one) => (
              <Group gap="xs" wrap="nowrap" justify="flex-end">
                <CopyLink address={one.acceptUrl} email={one.email} />
                <ConfirmButton
                  label="Withdraw"
                  subject={one.email}
                  title="Withdraw the invitation?"
                  run={() => withdraw.mutateAsync(one.id)}
                  question={`The link that ${one.email} has stops working.`}
                />
              </Group>
            ),
          },
        ]}
      />
    </Stack>
  );
}

export function CopyLink({ address, email }: { address: string; email: string }) {
  return (
    <CopyButton value={address}>
      {({ copied, copy }) => (
        <Button size="xs" variant="default" onClick={copy} aria-label={`Copy link for ${email}`}>
          {copied ? "Copied" : "Copy link"}
        </Button>
      )}
    </CopyButton>
  );
}

function Invite({ close }: { close: () => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState("operator");
  const invite = useWrite(() => invitePerson(email, role), peoplePrefix);
  return (
    <FormDialog
      title="Invite a colleague"
      opened
      close={close}
      submitLabel="Invite"
      busy={invite.isPending}
      error={invite.error}
      submit={() => invite.mutate(undefined, { onSuccess: close })}
    >
      <TextInput
        label="Email"
        type="email"
        required
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        data-autofocus
      />
      <Select
        label="Role"
        value={role}
        onChange={(value) => setRole(value ?? role)}
        allowDeselect={false}
        data={[
          { value: "admin", label: "Admin: may do everything" },
          { value: "operator", label: "Operator: runs campaigns, catalog and money" },
          { value: "analyst", label: "Analyst: may only look" },
        ]}
      />
      <Text size="sm" c="dimmed">
        The invitation is a link, which you can copy from the list.
      </Text>
    </FormDialog>
  );
}
