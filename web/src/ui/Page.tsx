// The frame of every page: its heading, what can be done on it, and its browser title.
import { Anchor, Group, Stack, Text, Title } from "@mantine/core";
import { useEffect, type ReactNode } from "react";
import { Link } from "react-router";

interface PageProps {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  back?: { to: string; label: string };
  children: ReactNode;
}

export function Page({ title, about, actions, back, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Gavel`;
  }, [title]);
  return (
    <Stack gap="lg" maw={1280} mx="auto">
      <Stack gap={4}>
        {back && (
          <Anchor component={Link} to={back.to} size="sm">
            ← {back.label}
          </Anchor>
        )}
        <Group justify="space-between" align="flex-start" gap="sm">
          <Title order={1} size="h2" style={{ overflowWrap: "anywhere", minWidth: 0 }}>
            {title}
          </Title>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
        {about && (
          <Text c="dimmed" maw={760}>
            {about}
          </Text>
        )}
      </Stack>
      {children}
    </Stack>
  );
}
