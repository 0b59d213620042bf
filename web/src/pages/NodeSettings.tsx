// The effective settings of the node and where each value comes from. They are read-only: the node's configuration
// decides.
import { Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { request } from "../api/client";
import { DataTable } from "../ui/DataTable";
import { Empty, Loaded } from "../ui/States";

interface NodeSetting {
  name: string;
  value: string;
  source: string;
}

export function NodeSettings() {
  const settings = useQuery<{ settings: NodeSetting[] }>({
    queryKey: ["settings"],
    queryFn: ({ signal }) => request("GET", "/settings", { signal }),
  });
  const [filter, setFilter] = useState("");
  return (
    <Loaded of={settings}>
      {(data) => (
        <>
          <TextInput
            label="Filter"
            value={filter}
            onChange={(event) => setFilter(event.currentTarget.value)}
            w={260}
            mb="md"
          />
          <DataTable
            label="Settings of the node"
            rowKey={(one) => one.name}
            empty={<Empty title="No setting fits the filter" />}
            rows={data.settings.filter((one) => one.name.includes(filter.trim().toLowerCase()))}
            columns={[
              {
                name: "Setting",
                cell: (one) => (
                  <Text size="sm" ff="monospace">
                    {one.name}
                  </Text>
                ),
              },
              {
                name: "Value",
                cell: (one) => (
                  <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                    {one.value || "–"}
                  </Text>
                ),
              },
              { name: "Comes from", cell: (one) => one.source },
            ]}
          />
        </>
      )}
    </Loaded>
  );
}
