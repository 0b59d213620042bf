import { Skeleton } from "@mantine/core";
import { lazy, Suspense, type ComponentProps } from "react";

const Chart = lazy(() => import("./Chart"));

// LazyChart keeps its place while the chart library is loaded, so that the page does not jump.
export function LazyChart(props: ComponentProps<typeof Chart>) {
  return (
    <Suspense fallback={<Skeleton height={props.height ?? 240} />}>
      <Chart {...props} />
    </Suspense>
  );
}
