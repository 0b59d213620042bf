// Package generators has no code, only tests: programs that write clients from an OpenAPI description take that of the management
// API, and the types of what they write are right. It is a module of its own, so that no build of Gavel depends on them.
package generators
