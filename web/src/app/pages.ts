// Every page of the console: its address, its place in the navigation and who may see it.
import type { ComponentType } from "react";
import { ofVendor, type Role } from "../api/session";
import { lazyPart } from "../ui/lazyPart";

export interface PageEntry {
  path: string;
  component: ComponentType;
  label?: string; // Its name in the navigation; pages without one are reached from another page.
  group?: string;
  vendors?: boolean; // Users of a vendor see the page too.
  roles?: Role[]; // Only these; absent: all, but for users of vendors.
}

export const groups = ["", "Sell", "Creatives", "Connect", "Administer"];

const admins: Role[] = ["admin"];
const runners: Role[] = ["admin", "operator"];

export const pages: PageEntry[] = [
  { path: "/", label: "Overview", group: "", component: lazyPart(() => import("../pages/Overview")), vendors: true },
  {
    path: "/start",
    label: "First auction",
    group: "",
    component: lazyPart(() => import("../pages/Start")),
    roles: admins,
  },
  { path: "/live", label: "Live auctions", group: "", component: lazyPart(() => import("../pages/Live")) },
  { path: "/playground", label: "Playground", group: "", component: lazyPart(() => import("../pages/Playground")) },
  { path: "/simulations", label: "Simulations", group: "", component: lazyPart(() => import("../pages/Simulations")) },
  { path: "/reports", label: "Reports", group: "", component: lazyPart(() => import("../pages/Reports")), vendors: true },
  { path: "/events", label: "Events", group: "", component: lazyPart(() => import("../pages/Events")) },
  { path: "/purchases", label: "Purchases", group: "", component: lazyPart(() => import("../pages/Purchases")) },
  {
    path: "/campaigns",
    label: "Campaigns",
    group: "Sell",
    component: lazyPart(() => import("../pages/Campaigns")),
    vendors: true,
  },
  { path: "/campaigns/:id", component: lazyPart(() => import("../pages/Campaign")), vendors: true },
  { path: "/vendors", label: "Vendors", group: "Sell", component: lazyPart(() => import("../pages/Vendors")) },
  { path: "/vendors/:id", component: lazyPart(() => import("../pages/Vendor")), vendors: true },
  { path: "/catalog", label: "Catalog", group: "Sell", component: lazyPart(() => import("../pages/Catalog")) },
  {
    path: "/placements",
    label: "Placements",
    group: "Creatives",
    component: lazyPart(() => import("../pages/Placements")),
  },
  { path: "/templates", label: "Templates", group: "Creatives", component: lazyPart(() => import("../pages/Templates")) },
  {
    path: "/assets",
    label: "Assets",
    group: "Creatives",
    component: lazyPart(() => import("../pages/Assets")),
    vendors: true,
  },
  { path: "/audiences", label: "Audiences", group: "Connect", component: lazyPart(() => import("../pages/Audiences")) },
  { path: "/keys", label: "API keys", group: "Connect", component: lazyPart(() => import("../pages/Keys")), roles: admins },
  {
    path: "/webhooks",
    label: "Webhooks",
    group: "Connect",
    component: lazyPart(() => import("../pages/Webhooks")),
    roles: admins,
  },
  {
    path: "/users",
    label: "Users",
    group: "Administer",
    component: lazyPart(() => import("../pages/Users")),
    roles: admins,
  },
  {
    path: "/audit",
    label: "Audit log",
    group: "Administer",
    component: lazyPart(() => import("../pages/Audit")),
    roles: runners,
  },
  {
    path: "/cluster",
    label: "Cluster",
    group: "Administer",
    component: lazyPart(() => import("../pages/Cluster")),
    roles: admins,
  },
  { path: "/log", label: "Log", group: "Administer", component: lazyPart(() => import("../pages/Log")), roles: admins },
  { path: "/settings", label: "Settings", group: "Administer", component: lazyPart(() => import("../pages/Settings")) },
  { path: "/account", component: lazyPart(() => import("../pages/Account")), vendors: true },
];

export const permitted = (page: PageEntry, role: Role) =>
  ofVendor(role) ? page.vendors === true : !page.roles || page.roles.includes(role);
