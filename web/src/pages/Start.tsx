// The first auction: a key, a command with that key, and a mark that turns green when the node receives the request.
import { Alert, Anchor, Button, Group, Paper, Stack, Tabs, Text, Title } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { call } from "../api/client";
import { useLive } from "../api/live";
import { useRead, useWrite } from "../api/query";
import { useCurrent } from "../api/session";
import { CopyBlock } from "../ui/Copy";
import { CheckIcon } from "../ui/icons";
import { Page } from "../ui/Page";
import { Failure } from "../ui/States";
import { auctionBody, auctionCall } from "./KeySecret";
import { useSampleProducts } from "./sampleProducts";

export default function Start() {
  const { session } = useCurrent();
  const sample = useSampleProducts();
  const products = useRead("GET /catalog-search-service/catalogs/products", { query: { limit: 1 } });
  const [received, setReceived] = useState(false);
  const create = useWrite(
    () => call("POST /key-service/keys", { body: { kind: "auction", name: "first auction" } }),
    "/key-service/keys",
  );
  // Requests before the key do not count.
  useLive({ auction: () => setReceived(received || create.data !== undefined) });
  const key = create.data?.key;
  const body = auctionBody(sample.products);
  const empty = products.data?.response.length === 0;

  return (
    <Page
      title="Send your first auction"
      about="Three steps from this page to a winner. They can be repeated at any time."
    >
      <Step number={1} title="Get an auction key" done={key !== undefined}>
        {key ? (
          <Text>
            The key <b>first auction</b> is made. The command below contains it; it is not shown again later.
          </Text>
        ) : (
          <Group>
            <Button onClick={() => create.mutate(undefined)} loading={create.isPending}>
              Create an auction key
            </Button>
          </Group>
        )}
        {create.error && <Failure error={create.error} />}
      </Step>
      <Step number={2} title="Run an auction" done={received}>
        {empty && (
          <Alert color="yellow" title="The catalog is empty">
            The auction will have no winner. Add{" "}
            <Anchor component={Link} to="/catalog">
              products
            </Anchor>{" "}
            and a{" "}
            <Anchor component={Link} to="/campaigns">
              campaign
            </Anchor>
            , or start <b>gavel demo</b> for a filled market.
          </Alert>
        )}
        {key ? (
          <Tabs defaultValue="curl">
            <Tabs.List>
              <Tabs.Tab value="curl">curl</Tabs.Tab>
              <Tabs.Tab value="js">JavaScript</Tabs.Tab>
              <Tabs.Tab value="go">Go</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="curl" pt="sm">
              <CopyBlock label="In a terminal" text={auctionCall(key, sample.products)} />
            </Tabs.Panel>
            <Tabs.Panel value="js" pt="sm">
              <CopyBlock label="In Node.js 20 or newer" text={inJavaScript(key, body)} />
            </Tabs.Panel>
            <Tabs.Panel value="go" pt="sm">
              <CopyBlock label="A Go program" text={inGo(key, body)} />
            </Tabs.Panel>
          </Tabs>
        ) : (
          <Text c="dimmed">First create the key.</Text>
        )}
      </Step>
      <Step number={3} title={received ? "The request has arrived" : "Waiting for the request"} done={received}>
        {received ? (
          <Alert color="green" role="status" title="The node has answered an auction">
            See{" "}
            <Anchor component={Link} to="/live">
              live auctions
            </Anchor>
            , or why each bid won or lost in the{" "}
            <Anchor component={Link} to="/playground">
              playground
            </Anchor>
            .
          </Alert>
        ) : (
          <Text c="dimmed">
            This turns green as soon as the node answers an auction{session.demo && "; the demo's shoppers count too"}.
          </Text>
        )}
      </Step>
    </Page>
  );
}

interface StepProps {
  number: number;
  title: string;
  done: boolean;
  children: React.ReactNode;
}

function Step({ number, title, done, children }: StepProps) {
  return (
    <Paper withBorder radius="md" p="lg">
      <Stack>
        <Group gap="sm" wrap="nowrap">
          <span className={done ? "step step-done" : "step"}>{done ? <CheckIcon /> : number}</span>
          <Title order={2} size="h4">
            {title}
          </Title>
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}

const inJavaScript = (
  key: string,
  body: unknown,
) => `const response = await fetch("${window.location.origin}/v2/auctions", {
  method: "POST",
  headers: { Authorization: "Bearer ${key}", "Content-Type": "application/json" },
  body: JSON.stringify(${JSON.stringify(body)}),
});
console.log(JSON.stringify(await response.json(), null, 2));`;

const inGo = (key: string, body: unknown) => `package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
)

func main() {
	body := strings.NewReader(\`${JSON.stringify(body)}\`)
	request, err := http.NewRequest(http.MethodPost, "${window.location.origin}/v2/auctions", body)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer ${key}")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer))
}`;
