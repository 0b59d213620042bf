// Package wire is the JSON of /v2: bodies in, engine types out, answers back to bytes. It knows every limit and errCode of
// the interface that needs no key, clock, catalog or token, and nothing about servers. DESIGN.md says why the parser is our
// own and which reading was chosen where the interface leaves two.
package wire
