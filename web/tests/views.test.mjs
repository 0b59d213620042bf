// What the console shows, and to whom: every page and dialog, signing in, roles, many campaigns, and nodes that stop. It runs beside work.test.mjs.
import { accessTests } from "./access.mjs";
import { givenDemo } from "./given.mjs";
import { keyTests } from "./keys.mjs";
import { manyTests } from "./many.mjs";
import { pageTests } from "./pages.mjs";
import { roleTests } from "./roles.mjs";

const given = givenDemo();

pageTests(given);
keyTests(given);
roleTests(given);
accessTests(given);
manyTests(given);
