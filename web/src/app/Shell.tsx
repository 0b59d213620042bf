// The frame around all pages: navigation, the marketplace, the user, and messages that concern the whole console.
import {
  ActionIcon,
  Alert,
  AppShell,
  Box,
  Burger,
  Button,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Select,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useLocalStorage } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, type ReactNode } from "react";
import { Link, useLocation } from "react-router";
import { request, setMarketplace } from "../api/client";
import { useConnection } from "../api/connection";
import {
  CurrentContext,
  leave,
  mayWrite,
  ofVendor,
  roleNames,
  sessionKey,
  type Role,
  type Session,
  type SessionMarketplace,
} from "../api/session";
import { Mark, MoonIcon, SunIcon } from "../ui/icons";
import { groups, pages, permitted } from "./pages";
import { PasswordDialog } from "./PasswordDialog";

export function Shell({ session, children }: { session: Session; children: (role: Role) => ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure();
  const [chosen, choose] = useLocalStorage({
    key: "gavel-marketplace",
    defaultValue: "",
    getInitialValueInEffect: false,
  });
  const { pathname } = useLocation();
  const client = useQueryClient();
  const marketplace = session.marketplaces.find((one) => one.id === chosen) ?? session.marketplaces[0];
  setMarketplace(marketplace?.id ?? ""); // Before the pages read, which happens after this render.

  useEffect(() => {
    close();
    window.scrollTo(0, 0);
  }, [pathname, close]);

  const current = useMemo(
    () =>
      marketplace && {
        session,
        marketplace,
        role: marketplace.role,
        canWrite: mayWrite(marketplace.role),
        ...(ofVendor(marketplace.role) && marketplace.vendorId ? { vendorId: marketplace.vendorId } : {}),
      },
    [session, marketplace],
  );

  const change = (id: string | null) => {
    if (!id) return;
    choose(id);
    setMarketplace(id);
    void client.resetQueries({ predicate: (query) => query.queryKey[0] !== sessionKey[0] });
  };

  return (
    <AppShell
      header={{ height: 56 }}
      padding={{ base: "md", md: "xl" }}
      navbar={{ width: 220, breakpoint: "sm", collapsed: { mobile: !opened } }}
    >
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="sm">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Mark />
            <Text fw={700} visibleFrom="xs">
              Gavel
            </Text>
            {session.demo && (
              <Text size="sm" px="xs" py={2} className="ribbon">
                demo data
              </Text>
            )}
          </Group>
          <Group gap="xs" wrap="nowrap">
            {session.marketplaces.length > 1 && (
              <Select
                aria-label="Marketplace"
                size="xs"
                w={170}
                allowDeselect={false}
                value={marketplace?.id ?? null}
                onChange={change}
                data={session.marketplaces.map((one) => ({ value: one.id, label: one.name }))}
              />
            )}
            <SchemeButton />
            <UserMenu session={session} role={marketplace?.role} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        {marketplace && <Navigation marketplace={marketplace} pathname={pathname} />}
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <ConnectionNotice />
        {current && marketplace ? (
          <CurrentContext.Provider key={marketplace.id} value={current}>
            {children(marketplace.role)}
          </CurrentContext.Provider>
        ) : (
          <Alert color="yellow" title="No marketplace">
            Your account belongs to no marketplace yet. Ask an admin.
          </Alert>
        )}
      </AppShell.Main>
    </AppShell>
  );
}

// intoView scrolls the link of the page into the list of pages, which is longer than a low window.
const intoView = (link: HTMLElement | null) => link?.scrollIntoView({ block: "nearest" });

function Navigation({ marketplace, pathname }: { marketplace: SessionMarketplace; pathname: string }) {
  const { role, vendorId } = marketplace;
  const shown = pages.filter((page) => page.label && permitted(page, role));
  const wallets = `/vendors/${encodeURIComponent(vendorId ?? "")}`;
  const active = (path: string) =>
    path === "/" ? pathname === "/" : pathname === path || pathname.startsWith(`${path}/`);
  return (
    <ScrollArea viewportProps={{ tabIndex: -1 }}>
      {groups.map((group) => {
        const links = shown.filter((page) => page.group === group);
        return (
          links.length > 0 && (
            <Box key={group} mb={6}>
              {group && (
                <Text size="xs" c="dimmed" fw={600} px="sm" mb={2}>
                  {group}
                </Text>
              )}
              {links.map((page) => (
                <NavLink
                  key={page.path}
                  component={Link}
                  to={page.path}
                  label={page.label}
                  active={active(page.path)}
                  py={2}
                  ref={active(page.path) ? intoView : undefined}
                  aria-current={active(page.path) ? "page" : undefined}
                  variant="light"
                  style={{ borderRadius: 6 }}
                />
              ))}
            </Box>
          )
        );
      })}
      {vendorId && ofVendor(role) && (
        <NavLink
          component={Link}
          to={wallets}
          label="Wallets"
          py={2}
          active={active(wallets)}
          style={{ borderRadius: 6 }}
        />
      )}
    </ScrollArea>
  );
}

function SchemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={dark ? "Use light colours" : "Use dark colours"}
      onClick={() => setColorScheme(dark ? "light" : "dark")}
    >
      {dark ? <SunIcon /> : <MoonIcon />}
    </ActionIcon>
  );
}

function UserMenu({ session, role }: { session: Session; role: Role | undefined }) {
  const client = useQueryClient();
  const [password, { open, close }] = useDisclosure();
  const signOut = async () => {
    leave(client, "leaving"); // Pages are closed first, so that none of them asks without a session.
    await request("DELETE", "/session").catch(() => undefined); // Without an answer the page still forgets the user.
    leave(client);
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" size="sm" maw={{ base: 110, sm: 180 }} px="sm">
            <Text span truncate inherit>
              {session.user.name || session.user.email}
            </Text>
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{session.user.email}</Menu.Label>
          <Menu.Label>
            {role ? `${roleNames[role]} · ` : ""}Gavel {session.version}
          </Menu.Label>
          <Menu.Item component={Link} to="/account">
            Your account
          </Menu.Item>
          <Menu.Item onClick={open}>Change password</Menu.Item>
          <Menu.Item component="a" href="/docs" target="_blank">
            API documentation
          </Menu.Item>
          <Menu.Item component="a" href="/docs/guides" target="_blank">
            Guides
          </Menu.Item>
          <Menu.Item component="a" href="/docs/runbook" target="_blank">
            Runbook
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <PasswordDialog opened={password} close={close} />
    </>
  );
}

function ConnectionNotice() {
  const connection = useConnection();
  if (connection === "works") return null;
  if (connection === "slow")
    return (
      <Alert color="yellow" mb="md" role="status" title="The node takes long to answer">
        The page goes on as soon as the answer is there.
      </Alert>
    );
  return (
    <Alert color="orange" mb="md" role="status" title="The node does not answer">
      What you see may be out of date. The console tries again every few seconds and goes on by itself.
    </Alert>
  );
}
