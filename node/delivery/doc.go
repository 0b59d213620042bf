// Package delivery sends what a node reports to the outside: signed notifications to addresses that clients have named
// (webhooks, and the connectors of ad networks), and a few emails through a mail server that the operator configured.
//
// A node connects to an address that a client has named through Client only. node/jobs decides what is sent and when;
// its DESIGN.md describes both packages.
package delivery
