// Erases what is stored of a customer of the storefront, after a question that says what stays.
import { Alert, Group, List, Stack, Text, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useWrite } from "../api/query";
import { ConfirmButton } from "../ui/Dialog";

export function EraseCustomer() {
  const [id, setId] = useState("");
  const erase = useWrite((user: string) =>
    call("DELETE /user-service/users/{opaque_user_id}", { path: { opaque_user_id: user } }),
  );
  const user = id.trim();
  return (
    <Stack maw={760}>
      <Title order={2} size="h4">
        Erase a customer
      </Title>
      <Text>
        For a customer who wants to be forgotten. The marketplace knows customers only by the opaqueUserId that the
        storefront sends with auctions and events.
      </Text>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Customer"
          description="opaqueUserId"
          maxLength={90}
          value={id}
          onChange={(event) => {
            setId(event.currentTarget.value);
            erase.reset();
          }}
          w={320}
        />
        {user !== "" && (
          <ConfirmButton
            label="Erase"
            size="sm"
            title={`Erase ${user}?`}
            run={() => erase.mutateAsync(user)}
            question={<WhatStays />}
          />
        )}
      </Group>
      {erase.isSuccess && (
        <Alert color="green" role="status">
          Erased on every node. Events that name the customer from now on are stored again.
        </Alert>
      )}
    </Stack>
  );
}

const WhatStays = () => (
  <Stack gap="xs">
    <Text size="sm">This cannot be undone. What is erased:</Text>
    <List size="sm">
      <List.Item>the ads that the customer saw and clicked</List.Item>
      <List.Item>links to other ids of the customer, and membership in segments that are lists</List.Item>
      <List.Item>the customer in purchases that are not credited yet: no ad is credited with them</List.Item>
    </List>
    <Text size="sm">What stays:</Text>
    <List size="sm">
      <List.Item>reports, charges and credited purchases, which name no customer</List.Item>
      <List.Item>
        logs of the cluster, snapshots and backups with the data of before, until newer ones replace them
      </List.Item>
      <List.Item>
        in the memory of nodes, counters of frequency caps until their period ends, and sampled requests until newer ones
        replace them
      </List.Item>
    </List>
  </Stack>
);
