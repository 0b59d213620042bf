import { Anchor } from "@mantine/core";
import { Link } from "react-router";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";

export function NotFound() {
  return (
    <Page title="No such page">
      <Empty
        title="There is nothing at this address"
        action={
          <Anchor component={Link} to="/">
            Go to the overview
          </Anchor>
        }
      >
        The address is misspelt, or your role does not include the page.
      </Empty>
    </Page>
  );
}
