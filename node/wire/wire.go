// Package wire is the JSON of the /v2 operations: it parses request bodies into the engine's types and appends the
// engine's results as JSON. It enforces every limit and returns every errCode of the interface that needs no key, clock,
// catalog or token, and it does not depend on a server. DESIGN.md says why the parser is written by hand and which
// reading was chosen where the interface allows two.
package wire
