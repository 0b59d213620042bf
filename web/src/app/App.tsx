// Decides what a visitor sees: the pages for people without a session, or the shell with the page of the address.
import { Center, Loader, Stack } from "@mantine/core";
import { Component, Suspense, useEffect, type ReactNode } from "react";
import { Route, Routes, useLocation } from "react-router";
import { isSession, useSession } from "../api/session";
import { lazyPart, loadInBackground } from "../ui/lazyPart";
import { Failure, Loading } from "../ui/States";
import { NotFound } from "./NotFound";
import { pages, permitted } from "./pages";
import { Shell } from "./Shell";
import { SignIn } from "./SignIn";

const SetUp = lazyPart(() => import("./SetUp"));
const AcceptInvitation = lazyPart(() => import("./AcceptInvitation"));

export function App() {
  const { pathname } = useLocation();
  if (pathname === "/setup")
    return (
      <Alone>
        <SetUp />
      </Alone>
    );
  if (pathname === "/invitation")
    return (
      <Alone>
        <AcceptInvitation />
      </Alone>
    );
  return <WithSession />;
}

const Alone = ({ children }: { children: ReactNode }) => <Suspense fallback={<Waiting />}>{children}</Suspense>;

const Waiting = () => (
  <Center h="100vh">
    <Loader aria-label="Loading" />
  </Center>
);

function WithSession() {
  const session = useSession();
  const signedIn = session.data !== undefined && isSession(session.data);
  useEffect(() => {
    if (signedIn) loadInBackground();
  }, [signedIn]);
  if (session.error) {
    return (
      <Center h="100vh">
        <Stack maw={480} p="md">
          <Failure error={session.error} retry={() => void session.refetch()} />
        </Stack>
      </Center>
    );
  }
  if (!session.data || (!isSession(session.data) && session.data.leaving)) return <Waiting />;
  if (!isSession(session.data)) return <SignIn {...session.data} />;
  return (
    <Shell session={session.data}>
      {(role) => (
        <Routes>
          {pages
            .filter((page) => permitted(page, role))
            .map((page) => (
              <Route
                key={page.path}
                path={page.path}
                element={
                  <Guarded key={page.path}>
                    <page.component />
                  </Guarded>
                }
              />
            ))}
          <Route path="*" element={<NotFound />} />
        </Routes>
      )}
    </Shell>
  );
}

// Guarded shows the failure of one page instead of an empty console.
class Guarded extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (this.state.error) return <Failure error={this.state.error} retry={() => window.location.reload()} />;
    return <Suspense fallback={<Loading />}>{this.props.children}</Suspense>;
  }
}
