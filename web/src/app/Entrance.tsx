// The frame of the pages that are shown without a session.
import { Center, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useEffect, type FormEvent, type ReactNode } from "react";
import { Mark } from "../ui/icons";

interface EntranceProps {
  title: string;
  children: ReactNode;
  submit?: () => void;
}

export function Entrance({ title, children, submit }: EntranceProps) {
  useEffect(() => {
    document.title = `${title} · Gavel`;
  }, [title]);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    submit?.();
  };
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack w="100%" maw={440}>
        <Group gap="xs" justify="center">
          <Mark />
          <Text fw={700} size="lg">
            Gavel
          </Text>
        </Group>
        <Paper withBorder radius="md" p="xl" component="form" onSubmit={onSubmit}>
          <Stack>
            <Title order={1} size="h3">
              {title}
            </Title>
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Center>
  );
}

// tokenOfAddress reads the one-time token of a link. It stands behind #, so that it reaches no server and no log.
export const tokenOfAddress = () => new URLSearchParams(window.location.hash.slice(1)).get("token") ?? "";
