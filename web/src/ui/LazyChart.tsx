import { Skeleton } from "@mantine/core";
import { Suspense, type ComponentProps } from "react";
import { lazyPart } from "./lazyPart";

const Chart = lazyPart(() => import("./Chart"));

// LazyChart keeps its place while the chart library is loaded, so that the page does not jump.
export function LazyChart(props: ComponentProps<typeof Chart>) {
  return (
    <Suspense fallback={<Skeleton height={props.height ?? 240} />}>
      <Chart {...props} />
    </Suspense>
  );
}
