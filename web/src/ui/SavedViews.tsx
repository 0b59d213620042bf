// The dialog of the saved views of a list: open one, save the present filters under a name, delete one.
import { Anchor, Button, CopyButton, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { Link, useSearchParams } from "react-router";
import { useCurrent } from "../api/session";
import { readViews, viewNameMax, viewsMax, withView, writeViews, type SavedView } from "./savedViews";

interface SavedViewsProps {
  list: string; // Names the list, such as campaigns.
  members: string[]; // The members of the address that are its filters.
  opened?: (query: URLSearchParams) => void; // Called with a view that is chosen.
}

export function SavedViews({ list, members, opened = () => undefined }: SavedViewsProps) {
  const { marketplace } = useCurrent();
  const [parameters] = useSearchParams();
  const [shown, setShown] = useState(false);
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const key = `${marketplace.id}.${list}`;
  const [views, setViews] = useState<SavedView[]>([]);
  const open = () => {
    setViews(readViews(key)); // Another window may have changed them.
    setProblem("");
    setShown(true);
  };
  const store = (after: SavedView[] | string) => {
    const why = typeof after === "string" ? after : writeViews(key, after);
    setProblem(why);
    if (why === "" && typeof after !== "string") setViews(after);
    return why === "";
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    const query = new URLSearchParams([...parameters].filter(([member]) => members.includes(member))).toString();
    if (store(withView(readViews(key), { name: name.trim(), query }))) setName("");
  };
  const remove = (gone: string) => store(readViews(key).filter((one) => one.name !== gone));
  return (
    <>
      <Button variant="default" onClick={open}>
        Views
      </Button>
      <Modal
        opened={shown}
        onClose={() => setShown(false)}
        title="Saved views"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack>
          {views.length === 0 && <Text size="sm">None yet. Choose filters, and save them here under a name.</Text>}
          {views.map((one) => (
            <Group key={one.name} justify="space-between" wrap="nowrap">
              <Anchor
                component={Link}
                to={`?${one.query}`}
                style={{ overflowWrap: "anywhere" }}
                onClick={() => {
                  setShown(false);
                  opened(new URLSearchParams(one.query));
                }}
              >
                {one.name}
              </Anchor>
              <Button
                size="xs"
                variant="default"
                aria-label={`Delete the view ${one.name}`}
                onClick={() => remove(one.name)}
              >
                Delete
              </Button>
            </Group>
          ))}
          <form onSubmit={save}>
            <Group align="flex-end" wrap="nowrap">
              <TextInput
                label="Name"
                flex={1}
                required
                pattern=".*\S.*"
                maxLength={viewNameMax}
                value={name}
                onChange={(event) => setName(event.currentTarget.value)}
              />
              <Button type="submit">Save</Button>
            </Group>
          </form>
          {problem && (
            <Text size="sm" c="red" role="alert">
              {problem}
            </Text>
          )}
          <Group justify="space-between">
            <Text size="xs" c="dimmed">
              At most {viewsMax}, kept by this browser.
            </Text>
            <CopyButton value={window.location.href}>
              {({ copied, copy }) => (
                <Button size="compact-xs" variant="default" onClick={copy}>
                  {copied ? "Copied" : "Copy the link of this view"}
                </Button>
              )}
            </CopyButton>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
